import { createHash } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Env } from '@plinth/kit/runtime'
import { CommandError, EXIT } from '../../command.ts'

/** The keys are by the address of the service; earlier versions kept the secret here, too. */
type Kept = { secret?: string; keys: Record<string, string> }

export type KeptState = {
  /** The same for every run on this machine, so that a receiver is set up once. */
  secret: string
  keyOf(url: string): string | undefined
  saveKey(url: string, key: string): void
  /** Where a listener stands: after an event, or at a time where it has seen none. */
  cursorOf(listener: string[]): string | undefined
  saveCursor(listener: string[], cursor: string): void
}

/** What `plinth listen` keeps. Each listener has a file of its own for where it stands. */
export async function openState(folder: string, env: Env): Promise<KeptState> {
  mkdirSync(folder, { recursive: true })
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
    // Read again, because another listener may have made a key meanwhile.
    saveKey: (url, key) => replace(file, { ...read(), keys: { ...read()?.keys, [url]: key } }),
    cursorOf: (listener) => readJson<{ cursor: string }>(cursorFile(listener))?.cursor,
    saveCursor: (listener, cursor) => replace(cursorFile(listener), { listener, cursor }),
  }
}

/** Where a program keeps the state of its user on this machine (XDG Base Directory). */
function machineFolder(env: Env): string {
  const state = env.XDG_STATE_HOME || join(homedir(), '.local/state')
  return join(state, 'plinth')
}

/** In the first folder that can be written: a user of services only may have no home. */
async function secretIn(folders: string[], earlier: string | undefined): Promise<string> {
  for (const folder of folders)
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const file = join(folder, 'listen-secret.json')
      if (!readJson(file)) create(file, { secret: earlier ?? (await newSecret()) })
      const kept = readJson<{ secret: string }>(file)
      if (kept) return kept.secret
    } catch {
      // It cannot be written: the next one.
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

/** Of two that begin at the same time, the first makes it. A file that cannot be read is replaced. */
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

/** A kill leaves the old content or the new one. */
function replace(file: string, content: object): void {
  renameSync(writeBeside(file, content), file)
}

function writeBeside(file: string, content: object): string {
  const path = `${file}.${process.pid}`
  writeFileSync(path, JSON.stringify(content, null, 2), { mode: 0o600 })
  return path
}
