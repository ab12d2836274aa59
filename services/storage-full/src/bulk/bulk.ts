import type { Origin } from '@plinth/accounts'
import type { Caller } from '@plinth/kit/http'
import { Problem } from '@plinth/kit/problems'
import { changeFile } from '../files/changes/changes.ts'
import { deleteFile, deleteRestorably, restoreFile } from '../files/deletions/deletions.ts'
import type { Storage } from '../files/storage.ts'

export const ACTIONS = ['trash', 'restore', 'delete', 'move'] as const

export type BulkRequest = {
  action: (typeof ACTIONS)[number]
  ids: number[]
  /** A path; only for `move`. */
  folder: string
  origin: Origin
}

type Outcome = { done: number[]; failed: { id: number; code: string }[] }

/** The single call for each id, one after the other. What fails for one does not keep the others from being done. */
export async function runForEach(
  storage: Storage,
  caller: Caller,
  { action, ids, folder, origin }: BulkRequest,
): Promise<Outcome> {
  const single = {
    trash: (id: number) => deleteRestorably(storage, caller, { id, origin }),
    restore: (id: number) => restoreFile(storage, caller, { id, origin }),
    delete: (id: number) => deleteFile(storage, caller, { id, origin }),
    move: (id: number) => changeFile(storage, caller, { id, origin, change: { folder } }),
  }[action]
  const outcome: Outcome = { done: [], failed: [] }
  for (const id of new Set(ids))
    try {
      await single(id)
      outcome.done.push(id)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      outcome.failed.push({ id, code: error.code })
    }
  return outcome
}
