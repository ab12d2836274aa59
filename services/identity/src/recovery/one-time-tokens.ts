import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { type Accounts, countWithin, normalName, subtractFailedAttempt } from '@plinth/accounts'
import { type Db, hashOpaqueToken, inTransaction, newOpaqueToken, secondsAfter } from '@plinth/kit'
import {
  findTokenByHash,
  forgiveTry,
  type OneTimeToken,
  replaceToken,
  tryCode,
} from '../database/one-time-tokens.repository.ts'
import type { IdentityTables } from '../database/tables.ts'

const HOUR = 3600

/** What a token is for, and how long it works. */
export const LIFETIME_SECONDS = {
  'verify-email': 24 * HOUR,
  'password-reset': HOUR / 2,
  /** An invitation too. Of a kind of its own: anyone can ask for a reset, and must not replace it. */
  'password-reset-by-administrator': 24 * HOUR,
  'email-change': HOUR,
  'email-undo': 7 * 24 * HOUR,
  /** The answer to a notice. */
  'not-me': 7 * 24 * HOUR,
  /** The same, in mails to the address that an undo restores. */
  'not-me-before': 7 * 24 * HOUR,
  'data-export': 24 * HOUR,
  /** After a login that was turned away. */
  'password-change': HOUR / 6,
  'deletion-cancel': HOUR / 6,
  /** Lasts as long as the grace. */
  'deletion-undo': 7 * 24 * HOUR,
} as const

export type TokenKind = keyof typeof LIFETIME_SECONDS

/** Of one code, and of all codes of any kind to one address in a day: after that only links work. */
const MOST_FAILURES = 5
const MOST_FAILURES_A_DAY = 20
const CODE_DIGITS = 8

type Tokens = { accounts: Accounts; db: Db<IdentityTables> }

type Issuer = {
  accounts: Pick<Accounts, 'clock'> & { settings: { masterKey: Buffer } }
  db: Db<IdentityTables>
}

type NewToken = {
  userId: number
  kind: TokenKind
  address: string
  /** Where it does not last as long as its kind does. */
  expiresAt?: string
  details?: Record<string, string>
}

/** Replaces the earlier token of the kind: only the newest mail works. */
export async function issueToken(
  { accounts, db }: Issuer,
  { userId, kind, address, expiresAt, details = {} }: NewToken,
): Promise<{ token: string; code: string }> {
  const now = accounts.clock()
  const id = randomBytes(16).toString('base64url')
  const { token, code, hashes } = newSecrets(accounts, id)
  await replaceToken(db, {
    id,
    userId,
    kind,
    address,
    ...hashes,
    failures: 0,
    details: JSON.stringify(details),
    createdAt: now.toISOString(),
    expiresAt: expiresAt ?? secondsAfter(now, LIFETIME_SECONDS[kind]).toISOString(),
    usedAt: null,
    replacedAt: null,
  })
  return { token, code }
}

export function newSecrets(accounts: Issuer['accounts'], id: string) {
  const token = newOpaqueToken()
  const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, '0')
  const hashes = { tokenHash: hashOpaqueToken(token), codeHash: codeHash(accounts, id, code) }
  return { token, code, hashes }
}

export type Proof = { token?: string; email?: string; code?: string }

/**
 * The token that a link or a code stands for, which may have been used. Does not spend it: that is
 * the last step of what it is for.
 */
export async function findToken(
  { accounts, db }: Tokens,
  kinds: TokenKind | readonly TokenKind[],
  proof: Proof,
): Promise<OneTimeToken | undefined> {
  const found =
    proof.token === undefined
      ? await findByCode(accounts, proof, (inside) => codesOf(inside, kinds))
      : await findTokenByHash(db, hashOpaqueToken(proof.token))
  const isWanted = [kinds].flat().some((kind) => kind === found?.kind)
  if (!found || !isWanted || found.replacedAt !== null) return undefined
  return found.expiresAt > accounts.clock().toISOString() ? found : undefined
}

/** How long after its end a link can say why it does not work. */
export const ENDED_SECONDS = 7 * 24 * HOUR

type LinkState = { state: 'used' | 'replaced' | 'expired' | 'unknown'; at: string | null }

/**
 * Why a link does not work. Only the token itself opens this, so it is of no use to a guesser; what uses
 * a token answers the same for all of them. `unknown` is also one that works, or was made void.
 */
export async function linkState({ accounts, db }: Tokens, token: string): Promise<LinkState> {
  const found = await findTokenByHash(db, hashOpaqueToken(token))
  if (found?.usedAt) return { state: 'used', at: found.usedAt }
  if (found?.replacedAt) return { state: 'replaced', at: found.replacedAt }
  if (found && found.expiresAt <= accounts.clock().toISOString())
    return { state: 'expired', at: found.expiresAt }
  return { state: 'unknown', at: null }
}

/** Where codes are kept. */
export type Codes<T> = {
  /** Those that the typed one is compared with; the statement that finds one counts a failure of it. */
  take(address: string, mostFailures: number): Promise<T[]>
  /** The code was right. */
  forgive(found: T): Promise<void>
}

export function codesOf(
  db: Db<IdentityTables>,
  kinds: TokenKind | readonly TokenKind[],
): Codes<OneTimeToken> {
  return {
    async take(address, most) {
      const found: OneTimeToken[] = []
      for (const kind of [kinds].flat()) found.push(...(await tryCode(db, { address, kind }, most)))
      return found
    },
    forgive: ({ id }) => forgiveTry(db, id),
  }
}

/**
 * Every try counts as a failure before it is compared, so that parallel ones are not more. One transaction: with a
 * commit for each count, an address that has a code would take longer than one that has none.
 */
export async function findByCode<T extends { id: string; codeHash: string }>(
  accounts: Accounts,
  { email = '', code = '' }: Proof,
  codesIn: (db: Db<IdentityTables>) => Codes<T>,
): Promise<T | undefined> {
  const address = normalName(email)
  const tries = `wrong code ${hashOpaqueToken(address)}`
  const typed = code.replaceAll(/[\s-]/g, '')
  return inTransaction(accounts.db, async (db) => {
    const { failures } = await countWithin(accounts, tries, 24 * HOUR, db)
    if (failures > MOST_FAILURES_A_DAY) return undefined
    const codes = codesIn(db as unknown as Db<IdentityTables>)
    const found = await codes.take(address, MOST_FAILURES)
    const right = found.find(({ id, codeHash: kept }) =>
      timingSafeEqual(Buffer.from(codeHash(accounts, id, typed)), Buffer.from(kept)),
    )
    if (!right) return undefined
    for (const each of found) await codes.forgive(each)
    await subtractFailedAttempt(db, tries)
    return right
  })
}

/** Keyed, because eight digits can be guessed from a plain hash. */
function codeHash({ settings }: Issuer['accounts'], id: string, code: string): string {
  return createHmac('sha256', settings.masterKey)
    .update(`one-time code\n${id}\n${code}`)
    .digest('base64url')
}
