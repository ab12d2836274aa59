import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { withSpan } from '@plinth/kit/tracing'
import { costOf, DEFAULT_COST, decoyHash, type HashCost, type HashTask, isAtLeast } from './phc.ts'
import { type Client, createPasswordPool, type PoolOptions } from './pool.ts'

export type PasswordOptions = Partial<PoolOptions> & { cost?: HashCost }

export type Passwords = ReturnType<typeof createPasswords>

const DEFAULTS: PoolOptions = {
  // Leaves one core for requests.
  workers: Math.max(1, availableParallelism() - 1),
  queueLimit: 1000,
  deadlineSeconds: 10,
}

// Twice the longest password, in UTF-16 units; nothing longer can match.
const MAX_CHECKED = 2048

/**
 * `address` is the client's: the pool is fair between networks. `isKnown` says that the user has a session there,
 * which an attacker elsewhere cannot have.
 */
export function createPasswords(options: PasswordOptions = {}) {
  const cost = options.cost ?? DEFAULT_COST
  const pool = createPasswordPool({ ...DEFAULTS, ...options })
  const run = (task: HashTask, client: Client) =>
    withSpan(`password ${task.kind}`, {}, () => pool.run(task, client))
  const decoy = decoyHash(cost, randomBytes)

  return {
    async hash(password: string, address: string, { isKnown = false } = {}): Promise<string> {
      const task = { kind: 'hash', password, cost } as const
      return String(await run(task, { address, isKnown }))
    },

    /** Does the same work whether or not there is a hash to compare with. */
    async verify(
      hash: string | undefined,
      password: string,
      address: string,
      { isKnown = false } = {},
    ): Promise<boolean> {
      const usable =
        hash !== undefined && costOf(hash) !== undefined && password.length <= MAX_CHECKED
      const text = password.slice(0, MAX_CHECKED)
      const task = { kind: 'verify', password: text, hash: usable ? hash : decoy } as const
      return (await run(task, { address, isKnown })) === true && usable
    },

    /** Whether a hash is cheaper than the current cost. */
    isOutdated(hash: string): boolean {
      const used = costOf(hash)
      return !used || !isAtLeast(used, cost)
    },

    /** The number of hashes that wait for a thread. */
    waiting: () => pool.waiting(),

    close: () => pool.close(),
  }
}

/** The passwords listed in the operator's file, one per line, and the most common ones if `refuseCommon`. */
export function openBlocklist(
  file: string | undefined,
  { refuseCommon }: { refuseCommon: boolean },
) {
  const listed = linesOf(file ? readFileSync(file, 'utf8') : '')
  let common: Promise<ReadonlySet<string>> | undefined
  return {
    async has(password: string): Promise<boolean> {
      const text = plain(password)
      if (listed.has(text)) return true
      if (!refuseCommon) return false
      common ??= readCommonPasswords().catch((error) => {
        common = undefined
        throw error
      })
      return (await common).has(text)
    },
  }
}

export type Blocklist = ReturnType<typeof openBlocklist>

const COMMON = join(import.meta.dirname, 'common-passwords.gz')

async function readCommonPasswords(): Promise<ReadonlySet<string>> {
  const unpacked = await promisify(gunzip)(await readFile(COMMON))
  return linesOf(unpacked.toString())
}

/** Editors on Windows begin a file with a byte order mark. */
function linesOf(text: string): ReadonlySet<string> {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/)
  return new Set(lines.map(plain).filter((line) => line !== ''))
}

/** The form in which passwords are compared with a list: encodings and capitals do not count. */
function plain(password: string): string {
  return password.normalize('NFKC').toLowerCase()
}
