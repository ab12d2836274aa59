import { setTimeout as pause } from 'node:timers/promises'
import { checksumOf } from '../files/bytes.ts'
import { findFile } from '../files/files.repository.ts'
import { type Content, objectKey, type Storage, type StoredFile } from '../files/storage.ts'
import { findVersion, type Version } from '../files/versions/versions.repository.ts'
import { findActiveLocation, listLocations } from '../locations/locations.ts'
import { storageUnavailable } from '../locations/problems.ts'
import type { BucketState, Location, ProbeStep } from '../locations/providers/provider.ts'
import { findRunningMove } from './moves.repository.ts'
import { everyFile, everyVersion, keysAt, withoutFile } from './sweep.ts'

type Difference = {
  problem: 'missing' | 'damaged' | 'unreachable' | 'orphan'
  /** A file id, perhaps with a version, or the key of an object that belongs to no file. */
  subject: string
}

/** Reads every byte of every file and every key of every location, and reports what differs. */
export async function* verifyFiles(storage: Storage): AsyncGenerator<Difference | 'sound'> {
  for await (const file of everyFile(storage, {})) {
    const finding = await findingOf(storage, file)
    if (finding === 'sound') yield finding
    else if (finding !== 'gone') yield { problem: finding, subject: `file ${file.id}` }
  }
  for await (const version of everyVersion(storage)) {
    const finding = await findingOfVersion(storage, version)
    const subject = `file ${version.fileId}, version ${version.version}`
    if (finding === 'sound') yield finding
    else if (finding !== 'gone') yield { problem: finding, subject }
  }
  yield* verifyObjects(storage)
}

type Finding = Difference['problem'] | 'sound' | 'gone'

/** A file that was deleted, moved or replaced since its row was read is not a difference. */
async function findingOf(storage: Storage, file: StoredFile): Promise<Finding> {
  const finding = await compare(storage, file)
  if (finding === 'sound') return finding
  const current = await findFile(storage.db, file.id)
  if (!current || current.state === 'deleting') return 'gone'
  return current.objectName === file.objectName ? finding : findingOf(storage, current)
}

async function findingOfVersion(storage: Storage, version: Version): Promise<Finding> {
  const finding = await compare(storage, { ...version, id: version.fileId })
  if (finding === 'sound') return finding
  const current = await findVersion(storage.db, version.id)
  const file = await findFile(storage.db, version.fileId)
  if (current?.state !== 'kept' || !file || file.state === 'deleting') return 'gone'
  return current.objectName === version.objectName ? finding : findingOfVersion(storage, current)
}

type Compared = Omit<Content, 'crc32'> & { id: number }

async function compare({ providers, log }: Storage, file: Compared): Promise<Finding> {
  try {
    const bytes = await providers.at(file.location).open(objectKey(file))
    if (!bytes) return 'missing'
    return (await checksumOf(bytes)) === file.checksumSha256 ? 'sound' : 'damaged'
  } catch (error) {
    if (!storageUnavailable.is(error)) throw error
    log.error({ err: error.cause, file: file.id }, 'a file cannot be read')
    return 'unreachable'
  }
}

type Suspects = { location: Location; keys: string[] }

/** Longer than an upload takes from its last byte to its row. */
const SECOND_LOOK_MS = 1000

/** Objects that have no file in either of two checks. */
async function* verifyObjects(storage: Storage): AsyncGenerator<Difference> {
  const suspects: Suspects[] = []
  for (const location of await listLocations(storage.db))
    try {
      suspects.push(...(await Array.fromAsync(suspectsAt(storage, location))))
    } catch (error) {
      yield unreachable(storage, location, error)
    }
  if (suspects.length > 0) await pause(SECOND_LOOK_MS)
  // The target of a running move may have a copy that is still being checked.
  const move = await findRunningMove(storage.db)
  for (const { location, keys } of suspects) {
    if (location.id === move?.targetLocationId) continue
    try {
      for (const key of await orphansAmong(storage, { location, keys }))
        yield { problem: 'orphan', subject: `${location.provider} ${key}` }
    } catch (error) {
      yield unreachable(storage, location, error)
    }
  }
}

async function* suspectsAt(storage: Storage, location: Location): AsyncGenerator<Suspects> {
  for await (const page of keysAt(storage, location)) {
    const keys = await withoutFile(storage, location, page)
    if (keys.length > 0) yield { location, keys }
  }
}

async function orphansAmong(storage: Storage, { location, keys }: Suspects) {
  const present: string[] = []
  for (const key of await withoutFile(storage, location, keys))
    if ((await storage.providers.at(location).sizeOf(key)) !== undefined) present.push(key)
  return present
}

function unreachable({ log }: Storage, { id, provider }: Location, error: unknown): Difference {
  if (!storageUnavailable.is(error)) throw error
  log.error({ err: error.cause, location: id }, 'a location cannot be read')
  return { problem: 'unreachable', subject: `${provider} location ${id}` }
}

/** Probes the active bucket, then examines how it is configured. Returns undefined if files go to a folder. */
export async function examineBucket({
  db,
  providers,
}: Storage): Promise<{ steps: ProbeStep[]; state?: BucketState | undefined } | undefined> {
  const active = await findActiveLocation(db)
  if (active?.provider !== 'OBJECT') return undefined
  const bucket = providers.at(active)
  const steps = await bucket.probe()
  return steps.every(({ passed }) => passed)
    ? { steps, state: await bucket.examine?.() }
    : { steps }
}
