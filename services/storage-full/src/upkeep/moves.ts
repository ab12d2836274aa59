import { type Caller, defineProblem, isUniqueViolation, Problem } from '@plinth/kit'
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
import { storageUnavailable } from '../locations/problems.ts'
import type { Location } from '../locations/providers/provider.ts'
import { answers, testSettings } from '../locations/status.ts'
import { DamagedBytesError, moveFile } from './move-file.ts'
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

const moveNotFound = defineProblem('MOVE_NOT_FOUND', 404, 'There is no move with this id.')

const moveUnderWay = defineProblem(
  'MOVE_UNDER_WAY',
  409,
  'Files are being moved already. Wait for it to finish, or cancel it.',
)

/** Plans the move of every file to a provider that passes its test. The work is a job's. */
export async function startMove(
  storage: Storage,
  caller: Pick<Caller, 'username'>,
  to: ProviderName,
): Promise<Move> {
  const target = await testedTarget(storage, to)
  const total = await countFilesElsewhere(storage.db, target.id)
  const move = { targetLocationId: target.id, total, requestedBy: caller.username }
  try {
    const id = await insertMove(storage.db, { ...move, now: storage.clock() })
    return await requireMove(storage, id)
  } catch (error) {
    if (isUniqueViolation(error)) throw moveUnderWay()
    throw error
  }
}

/** Where uploads go now, if that is the provider; otherwise what is saved for it. */
async function testedTarget(storage: Storage, to: ProviderName): Promise<Location> {
  const active = await requireActiveLocation(storage.db)
  if (active.provider === to) {
    await testSettings(storage, storage.providers.unseal(to, active.sealedSettings))
    return active
  }
  const settings = await requireSettings(storage, to)
  await testSettings(storage, settings)
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

/** Files that were moved stay where they are now. */
export async function cancelMove(storage: Storage, id: number): Promise<Move> {
  await requireMove(storage, id)
  await endMove(storage.db, id, 'CANCELLED', storage.clock())
  return requireMove(storage, id)
}

/** Goes on with the running move, if there is one, from where the last node stopped. */
export async function continueMove(storage: Storage, signal: AbortSignal): Promise<void> {
  const move = await findRunningMove(storage.db)
  const target = move && (await findLocation(storage.db, move.targetLocationId))
  if (!move || !target) return
  try {
    await moveAll(storage, move, target, signal)
  } catch (error) {
    // A provider that is down does not end the move: the next round tries again.
    const known = error instanceof Problem
    const reason = known ? error.message : 'It stopped for a reason that is in the log.'
    const recorded = await recordReason(storage, move, reason)
    if (!known || !recorded) throw error
  }
}

/** A failure here must not hide the one that is being recorded. */
async function recordReason(storage: Storage, move: Move, reason: string): Promise<boolean> {
  try {
    await updateMoveError(storage.db, move.id, reason, storage.clock())
    return true
  } catch (error) {
    storage.log.error({ err: error }, 'why a move stopped could not be recorded')
    return false
  }
}

async function moveAll(storage: Storage, move: Move, target: Location, signal: AbortSignal) {
  let afterId = move.cursorId
  while (!signal.aborted) {
    const query = { afterId, limit: FILES_AT_ONCE, notAt: target.id }
    const files = await listFilesAfter(storage.db, query)
    if (files.length === 0) {
      await endMove(storage.db, move.id, 'DONE', storage.clock())
      return
    }
    for (const file of files) {
      if (signal.aborted) return
      const progress = await moveOne(storage, file, target)
      if (!(await updateProgress(storage.db, move.id, progress, storage.clock()))) return
      afterId = file.id
    }
  }
}

async function moveOne(storage: Storage, file: StoredFile, target: Location): Promise<Progress> {
  const gone: Progress = { fileId: file.id, moved: 0, failed: 0, bytes: 0 }
  if (file.state !== 'stored') return gone
  try {
    const moved = await moveOrRetry(storage, file, target)
    return moved ? { ...gone, moved: 1, bytes: file.sizeBytes } : gone
  } catch (error) {
    if (fileNotFound.is(error)) return gone
    const way = { from: file.location, to: target }
    if (!(await isFaultOfFile(storage, error, way))) throw error
    storage.log.error({ err: error, file: file.id }, 'a file could not be moved')
    return { ...gone, failed: 1, error: `File ${file.id}: ${(error as Error).message}` }
  }
}

/** Nobody comes back to a file that failed, so what may be over by now is tried once more. */
async function moveOrRetry(storage: Storage, file: StoredFile, target: Location): Promise<boolean> {
  try {
    return await moveFile(storage, file, target)
  } catch (error) {
    const way = { from: file.location, to: target }
    if (!storageUnavailable.is(error) || (await isOutage(storage, way))) throw error
    return moveFile(storage, file, target)
  }
}

type Way = { from: Location; to: Location }

/** One file that cannot be copied must not keep the others from moving. */
async function isFaultOfFile(storage: Storage, error: unknown, way: Way): Promise<boolean> {
  if (error instanceof DamagedBytesError || storedBytesMissing.is(error)) return true
  return storageUnavailable.is(error) && !(await isOutage(storage, way))
}

/**
 * The target, and the place that uploads go to, are sure to be mended, so it is worth to wait for
 * them. Any other source may be gone for good: its files are passed over and stay where they are.
 */
async function isOutage(storage: Storage, { from, to }: Way): Promise<boolean> {
  // Not only a look: a target that takes nothing more would fail every file that is left.
  const steps = await storage.providers.at(to).probe()
  if (steps.some(({ passed }) => !passed)) return true
  const active = await requireActiveLocation(storage.db)
  return from.id === active.id && !(await answers(storage.providers.at(from)))
}
