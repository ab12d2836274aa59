import { createHash } from 'node:crypto'
import {
  closeSync,
  fchownSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Env, makeDataFolder } from '@plinth/kit/runtime'
import { CommandError, EXIT } from '../../command.ts'

/** Service keys by the address of the service. Earlier versions also kept the secret here. */
type Kept = { secret?: string; keys: Record<string, string> }

export type KeptState = {
  /** The same for every run on this machine, so that a receiver is configured only once. */
  secret: string
  keyOf(url: string): string | undefined
  saveKey(url: string, key: string): void
  /** The position of a listener: the last event, or a time if it has not seen any. */
  cursorOf(listener: string[]): string | undefined
  saveCursor(listener: string[], cursor: string): void
}

/** The state that `plinth listen` keeps. Each listener has its own file for its cursor. */
export async function openState(folder: string, env: Env): Promise<KeptState> {
  makeDataFolder(folder, 'SUITE_DATA')
  const file = join(folder, 'listen.json')
  const read = () => readJson<Kept>(file)
  const secret = await secretIn([machineFolder(env), folder], read()?.secret)
  const cursorFile = (listener: string[]) => {
    const name = createHash('sha256').update(JSON.stringify(listener)).digest('hex').slice(0, 16)
    return join(folder, `listen-${name}.json`)
  }
  return {
    secret,
    keyOf: (url) => read()?.keys[url],
    // Read again, because another listener may have saved a key in the meantime.
    saveKey: (url, key) => replace(file, { ...read(), keys: { ...read()?.keys, [url]: key } }),
    cursorOf: (listener) => readJson<{ cursor: string }>(cursorFile(listener))?.cursor,
    saveCursor: (listener, cursor) => replace(cursorFile(listener), { listener, cursor }),
  }
}

/** Where programs keep per-user state on this machine (XDG Base Directory). */
function machineFolder(env: Env): string {
  const state = env.XDG_STATE_HOME || join(homedir(), '.local/state')
  return join(state, 'plinth')
}

/** Kept in the first writable folder: a service user may have no home directory. */
async function secretIn(folders: string[], earlier: string | undefined): Promise<string> {
  for (const folder of folders)
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const file = join(folder, 'listen-secret.json')
      if (!readJson(file)) create(file, { secret: earlier ?? (await newSecret()) })
      const kept = readJson<{ secret: string }>(file)
      if (kept) return kept.secret
    } catch {
      // Not writable: try the next folder.
    }
  throw new CommandError(EXIT.cannotCreate, `Cannot write to ${folders.join(' or ')}.`)
}

async function newSecret(): Promise<string> {
  const events = await import('@plinth/events')
  return events.newSecret()
}

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T
  } catch {
    return undefined
  }
}

/** If two processes start at the same time, the first one wins. An unreadable file is replaced. */
function create(file: string, content: object): void {
  const written = writeBeside(file, content)
  try {
    linkSync(written, file)
    rmSync(written)
  } catch {
    if (readJson(file)) rmSync(written)
    else renameSync(written, file)
  }
}

/** Atomic: a kill leaves either the old content or the new. */
function replace(file: string, content: object): void {
  renameSync(writeBeside(file, content), file)
}

/** Root leaves the file to the owner of the folder: doctor, and the service's user, expect one owner. */
function writeBeside(file: string, content: object): string {
  const path = `${file}.${process.pid}`
  rmSync(path, { force: true })
  // A new file, with its owner set through the handle: a symlink there must not lead root elsewhere.
  const handle = openSync(path, 'wx', 0o600)
  try {
    writeFileSync(handle, JSON.stringify(content, null, 2))
    const { uid, gid } = statSync(dirname(path))
    if (process.getuid?.() === 0) fchownSync(handle, uid, gid)
  } finally {
    closeSync(handle)
  }
  return path
}
