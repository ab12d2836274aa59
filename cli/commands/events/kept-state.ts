import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What `plinth listen` keeps, by the address of the service. */
type Kept = { secret: string; keys: Record<string, string>; cursors: Record<string, string> }

export type KeptState = {
  /** The same for every run on this machine, so that a receiver is set up once. */
  secret: string
  keyOf(url: string): string | undefined
  saveKey(url: string, key: string): void
  /** The event that was forwarded last. */
  cursorOf(url: string): string | undefined
  saveCursor(url: string, id: string): void
}

export async function openState(folder: string): Promise<KeptState> {
  const file = join(folder, 'listen.json')
  const kept = read(file) ?? { secret: await newSecret(), keys: {}, cursors: {} }
  const save = () => {
    mkdirSync(folder, { recursive: true })
    // Renamed, so that a kill leaves the old state or the new one.
    writeFileSync(`${file}.new`, JSON.stringify(kept, null, 2), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  save()
  return {
    secret: kept.secret,
    keyOf: (url) => kept.keys[url],
    saveKey: (url, key) => {
      kept.keys[url] = key
      save()
    },
    cursorOf: (url) => kept.cursors[url],
    saveCursor: (url, id) => {
      kept.cursors[url] = id
      save()
    },
  }
}

async function newSecret(): Promise<string> {
  const events = await import('@plinth/events')
  return events.newSecret()
}

function read(file: string): Kept | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Kept
  } catch {
    return undefined
  }
}
