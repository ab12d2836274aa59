import type { By } from '@plinth/accounts'
import { inTransaction, isUniqueViolation } from '@plinth/kit/database'
import { defineProblem, Problem } from '@plinth/kit/problems'
import { recordStorageEvent } from '../audit.ts'
import type { ProviderName } from '../database/tables.ts'
import { listFilesAfter } from '../files/files.repository.ts'
import { fileNotFound, storedBytesMissing, versionNotFound } from '../files/problems.ts'
import type { Storage, StoredFile } from '../files/storage.ts'
import { listKeptAfter, type Version } from '../files/versions/versions.repository.ts'
import {
  findLocation,
  locate,
  requireActiveLocation,
  requireSettings,
} from '../locations/locations.ts'
import { isStoreRefusal } from '../locations/problems.ts'
import type { Location } from '../locations/providers/provider.ts'
import { answers, testSettings } from '../locations/status.ts'
import { DamagedBytesError, type Destination, moveFile, moveVersion } from './move-file.ts'
import {
  countElsewhere,
  endMove,
  findMove,
  findRunningMove,
  insertMove,
  listMoves,
  type Move,
  type Progress,
  updateMoveError,
  updateProgress,
} from './moves.repository.ts'

export type { Move } from './moves.repository.ts'

const FILES_AT_ONCE = 50

export const moveNotFound = defineProblem('MOVE_NOT_FOUND', 404, 'There is no move with this id.')

export const moveUnderWay = defineProblem(
  'MOVE_UNDER_WAY',
  409,
  'Files are being moved already. Wait for it to finish, or cancel it.',
)

/** Plans the move of every file to a provider that passes its test. A job does the work. */
export async function startMove(storage: Storage, by: By, to: ProviderName): Promise<Move> {
  const target = await testedTarget(storage, to, by)
  const total = await countElsewhere(storage.db, target.id)
  const move = { targetLocationId: target.id, total, requestedBy: by.actor, now: storage.clock() }
  try {
    return await inTransaction(storage.db, async (db) => {
      const id = await insertMove(db, move)
      await recordStorageEvent(
        { ...storage, db },
        { event: 'MOVE_STARTED', actor: by.actor, subject: `${total} files to ${to}` },
        by.origin,
      )
      return requireMove({ ...storage, db }, id)
    })
  } catch (error) {
    if (isUniqueViolation(error)) throw moveUnderWay()
    throw error
  }
}

/** The active location, if it is of this provider; otherwise the location for its saved settings. */
async function testedTarget(storage: Storage, to: ProviderName, by: By): Promise<Location> {
  const active = await requireActiveLocation(storage.db)
  if (active.provider === to) {
    await testSettings(storage, storage.providers.unseal(to, active.sealedSettings), by)
    return active
  }
  const settings = await requireSettings(storage, to)
  await testSettings(storage, settings, by)
  return locate(storage, settings)
}

export async function requireMove({ db }: Storage, id: number): Promise<Move> {
  const move = await findMove(db, id)
  if (!move) throw moveNotFound()
  return move
}

export function recentMoves({ db }: Storage): Promise<Move[]> {
  return listMoves(db)
}

/** Files already moved stay where they are. A move that has ended stays as it is. */
export async function cancelMove(storage: Storage, by: By, id: number): Promise<Move> {
  await requireMove(storage, id)
  await inTransaction(storage.db, async (db) => {
    if (!(await endMove(db, id, 'CANCELLED', storage.clock()))) return
    await recordStorageEvent(
      { ...storage, db },
      { event: 'MOVE_CANCELLED', actor: by.actor, subject: `move ${id}` },
      by.origin,
    )
  })
  return requireMove(storage, id)
}

/** Resumes the running move, if there is one, where the last node stopped. */
export async function continueMove(storage: Storage, signal: AbortSignal): Promise<void> {
  const move = await findRunningMove(storage.db)
  const target = move && (await findLocation(storage.db, move.targetLocationId))
  if (!move || !target) return
  try {
    await moveAll(storage, move, target, signal)
  } catch (error) {
    // A provider that is down does not end the move: the next round retries.
    const known = error instanceof Problem
    const reason = known ? error.message : 'It stopped unexpectedly; the log has the reason.'
    const recorded = await recordReason(storage, move, reason)
    if (!known || !recorded) throw error
  }
}

/** A failure here must not hide the error that is being recorded. */
async function recordReason({ db, clock, log }: Storage, { id }: Move, reason: string) {
  try {
    await updateMoveError(db, id, reason, clock())
    return true
  } catch (error) {
    log.error({ err: error }, 'the reason why a move stopped could not be recorded')
    return false
  }
}

async function moveAll(storage: Storage, move: Move, target: Location, signal: AbortSignal) {
  const { db, clock } = storage
  const destination = { moveId: move.id, location: target }
  for await (const item of itemsOf(storage, move, target)) {
    if (signal.aborted) return
    const progress = await moveOne(storage, item, destination)
    if (!(await updateProgress(db, move.id, progress, clock()))) return
  }
  if (!signal.aborted) await endMove(db, move.id, 'DONE', clock())
}

/** Something to move: a file or an earlier version, as the progress of a move counts them. */
type Item = Pick<Progress, 'at'> & {
  name: string
  from: Location
  sizeBytes: number
  move(target: Destination): Promise<boolean>
}

/** Files first: one that is replaced meanwhile leaves an earlier version for the second part. */
async function* itemsOf(storage: Storage, move: Move, target: Location): AsyncGenerator<Item> {
  const filter = { notAt: target.id, limit: FILES_AT_ONCE }
  for (let afterId = move.cursorId; ; ) {
    const files = await listFilesAfter(storage.db, { ...filter, afterId })
    for (const file of files) yield itemOfFile(storage, file)
    const last = files.at(-1)
    if (!last) break
    afterId = last.id
  }
  for (let afterId = move.versionCursorId; ; ) {
    const versions = await listKeptAfter(storage.db, { ...filter, afterId })
    for (const version of versions) yield itemOfVersion(storage, version)
    const last = versions.at(-1)
    if (!last) return
    afterId = last.id
  }
}

function itemOfFile(storage: Storage, file: StoredFile): Item {
  return {
    at: { cursor_id: file.id },
    name: `File ${file.id}`,
    from: file.location,
    sizeBytes: file.sizeBytes,
    move: (target) => moveFile(storage, file, target),
  }
}

function itemOfVersion(storage: Storage, version: Version): Item {
  return {
    at: { version_cursor_id: version.id },
    name: `File ${version.fileId}, version ${version.version}`,
    from: version.location,
    sizeBytes: version.sizeBytes,
    move: (target) => moveVersion(storage, version, target),
  }
}

/** One file that cannot be copied must not keep the others from moving. */
async function moveOne(
  storage: Storage,
  item: Item,
  target: Destination,
  { retried = false } = {},
): Promise<Progress> {
  const unmoved: Progress = { at: item.at, moved: 0, failed: 0, bytes: 0 }
  try {
    const moved = await item.move(target)
    return moved ? { ...unmoved, moved: 1, bytes: item.sizeBytes } : unmoved
  } catch (error) {
    if (fileNotFound.is(error) || versionNotFound.is(error)) return unmoved
    const refused = isStoreRefusal(error)
    if (refused && (await isOutage(storage, item.from, target.location))) throw error
    // The move never retries a failed file later, so a file fails only when refused twice.
    if (refused && !retried) return moveOne(storage, item, target, { retried: true })
    if (!refused && !storedBytesMissing.is(error) && !(error instanceof DamagedBytesError))
      throw error
    storage.log.error({ err: error }, `${item.name} could not be moved`)
    return { ...unmoved, failed: 1, error: `${item.name}: ${(error as Error).message}` }
  }
}

/**
 * The target and the active location will be repaired, so the move waits for them. Any other source
 * may be gone for good: its files count as failed and stay where they are.
 */
async function isOutage(storage: Storage, from: Location, to: Location): Promise<boolean> {
  // The whole probe, not only `check`: on a full target every remaining file would fail.
  const steps = await storage.providers.at(to).probe()
  if (steps.some(({ passed }) => !passed)) return true
  const active = await requireActiveLocation(storage.db)
  return from.id === active.id && !(await answers(storage.providers.at(from)))
}
