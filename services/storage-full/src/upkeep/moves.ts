import type { By } from '@plinth/accounts'
import { inTransaction, isUniqueViolation } from '@plinth/kit/database'
import { defineProblem, Problem } from '@plinth/kit/problems'
import { recordStorageEvent } from '../audit.ts'
import type { ProviderName } from '../database/tables.ts'
import { listFilesAfter } from '../files/files.repository.ts'
import { fileNotFound, storedBytesMissing } from '../files/problems.ts'
import type { Storage, StoredFile } from '../files/storage.ts'
import {
  findLocation,
  locate,
  requireActiveLocation,
  requireSettings,
} from '../locations/locations.ts'
import { isStoreRefusal } from '../locations/problems.ts'
import type { Location } from '../locations/providers/provider.ts'
import { answers, testSettings } from '../locations/status.ts'
import { DamagedBytesError, type Destination, moveFile } from './move-file.ts'
import {
  countFilesElsewhere,
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
  const total = await countFilesElsewhere(storage.db, target.id)
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
  const filter = { notAt: target.id, limit: FILES_AT_ONCE }
  let afterId = move.cursorId
  while (!signal.aborted) {
    const files = await listFilesAfter(db, { ...filter, afterId })
    if (files.length === 0) return void (await endMove(db, move.id, 'DONE', clock()))
    for (const file of files) {
      if (signal.aborted) return
      const progress = await moveOne(storage, file, { moveId: move.id, location: target })
      if (!(await updateProgress(db, move.id, progress, clock()))) return
      afterId = file.id
    }
  }
}

/** One file that cannot be copied must not keep the others from moving. */
async function moveOne(
  storage: Storage,
  file: StoredFile,
  target: Destination,
  { retried = false } = {},
): Promise<Progress> {
  const unmoved: Progress = { fileId: file.id, moved: 0, failed: 0, bytes: 0 }
  try {
    const moved = await moveFile(storage, file, target)
    return moved ? { ...unmoved, moved: 1, bytes: file.sizeBytes } : unmoved
  } catch (error) {
    if (fileNotFound.is(error)) return unmoved
    const refused = isStoreRefusal(error)
    if (refused && (await isOutage(storage, file.location, target.location))) throw error
    // The move never retries a failed file later, so a file fails only when refused twice.
    if (refused && !retried) return moveOne(storage, file, target, { retried: true })
    if (!refused && !storedBytesMissing.is(error) && !(error instanceof DamagedBytesError))
      throw error
    storage.log.error({ err: error, file: file.id }, 'a file could not be moved')
    return { ...unmoved, failed: 1, error: `File ${file.id}: ${(error as Error).message}` }
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
