import { setTimeout as pause } from 'node:timers/promises'
import { Problem } from '@plinth/kit'
import type { Location } from './location.ts'
import { listLocations } from './locations.repository.ts'
import { findRunningMove } from './moves.repository.ts'
import type { Storage } from './storage.ts'
import { keysAt, withoutFile } from './sweep.ts'

export type Difference = {
  problem: 'missing' | 'damaged' | 'unreachable' | 'orphan'
  /** A file id, or the key of an object that belongs to no file. */
  subject: string
}

type Suspects = { location: Location; keys: string[] }

/** Longer than an upload takes from its last byte to its row. */
const SECOND_LOOK_MS = 1000

/** Tells of objects without a file, once a second look has found them so, too. */
export async function* verifyObjects(storage: Storage): AsyncGenerator<Difference> {
  const suspects: Suspects[] = []
  for (const location of await listLocations(storage.db))
    try {
      suspects.push(...(await Array.fromAsync(suspectsAt(storage, location))))
    } catch (error) {
      yield unreachable(location, error)
    }
  if (suspects.length > 0) await pause(SECOND_LOOK_MS)
  for (const { location, keys } of await withoutMoving(storage, suspects))
    try {
      for (const key of await orphansAmong(storage, { location, keys }))
        yield { problem: 'orphan', subject: `${location.provider} ${key}` }
    } catch (error) {
      yield unreachable(location, error)
    }
}

async function* suspectsAt(storage: Storage, location: Location): AsyncGenerator<Suspects> {
  for await (const page of keysAt(storage, location)) {
    const keys = await withoutFile(storage.db, location, page)
    if (keys.length > 0) yield { location, keys }
  }
}

/** Where a move is under way, one of them is the copy that it is checking. */
async function withoutMoving({ db }: Storage, suspects: Suspects[]): Promise<Suspects[]> {
  const move = await findRunningMove(db)
  return suspects.filter(({ location }) => location.id !== move?.targetLocationId)
}

async function orphansAmong(
  { db, providers }: Storage,
  { location, keys }: Suspects,
): Promise<string[]> {
  const present: string[] = []
  for (const key of await withoutFile(db, location, keys))
    if ((await providers.at(location).sizeOf(key)) !== undefined) present.push(key)
  return present
}

function unreachable({ id, provider }: Location, error: unknown): Difference {
  if (!(error instanceof Problem)) throw error
  return { problem: 'unreachable', subject: `${provider} location ${id}` }
}
