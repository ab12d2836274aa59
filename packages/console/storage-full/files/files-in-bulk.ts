import type { StorageApi } from '@plinth/client'
import {
  type Bulk,
  type BulkAction,
  type BulkResult,
  whyOf,
} from '../../shared/components/bulk.tsx'
import { knownFolders, relistFolders } from '../folders/folders.ts'
import { session } from '../session.ts'
import { downloadArchive } from './archive.ts'

type Named = { id: number; originalFilename: string }

/** The service takes so many ids in one request. */
const AT_ONCE = 1_000

const WHY: Record<string, string> = {
  FILE_NOT_FOUND: 'It is not there any more.',
  ACCESS_DENIED: 'It belongs to another user.',
  QUOTA_EXCEEDED: 'There is no room for it in the quota.',
  STORAGE_UNAVAILABLE: 'The place where it is stored does not answer.',
  NOTHING_TO_RESTORE: 'It cannot be restored any more.',
}

async function together(
  rows: Named[],
  action: StorageApi.BulkRequest['action'],
  folder?: string,
): Promise<BulkResult> {
  const result: BulkResult = { done: 0, failures: [] }
  for (let first = 0; first < rows.length; first += AT_ONCE) {
    const some = rows.slice(first, first + AT_ONCE)
    const json = { action, ids: some.map(({ id }) => id), folder }
    const reply = await session.api.post('/file/bulk', { json })
    if (reply.ok) result.done += reply.body.done.length
    result.failures.push(
      ...(reply.ok
        ? reply.body.failed.map(({ id, code }) => failureOf(some, id, WHY[code] ?? code))
        : some.map(({ id }) => failureOf(some, id, whyOf(reply)))),
    )
  }
  if (action === 'move' || action === 'restore') await relistFolders()
  return result
}

function failureOf(rows: Named[], id: number, why: string) {
  return { name: rows.find((row) => row.id === id)?.originalFilename ?? String(id), why }
}

function moveAction(): BulkAction<Named> {
  const placeholder = '/holidays/2026'
  const suggestions = knownFolders()
  return {
    label: 'Move',
    done: 'moved',
    field: { label: 'To the folder', name: 'folder', placeholder, suggestions },
    runAll: (rows, folder) => together(rows, 'move', folder || '/'),
  }
}

const DELETE: BulkAction<Named> = {
  label: 'Delete for good',
  done: 'deleted for good',
  kind: 'danger',
  runAll: (rows) => together(rows, 'delete'),
}

/** What can be done with files that are selected. */
export function filesInBulk<Row extends Named>(changed: () => unknown): Bulk<Row> {
  return {
    nameOf: ({ originalFilename }) => originalFilename,
    changed,
    actions: [
      {
        label: 'Download as ZIP',
        done: 'in the archive',
        icon: 'download',
        harmless: true,
        runAll: async (rows) => {
          const wanted = { ids: rows.map(({ id }) => id), name: 'files.zip' }
          const reply = await downloadArchive(wanted)
          if (reply.ok) return { done: rows.length, failures: [] }
          return { done: 0, failures: [{ name: 'The archive', why: whyOf(reply) }] }
        },
      },
      moveAction(),
      {
        label: 'Move to the trash',
        done: 'moved to the trash',
        kind: 'danger',
        icon: 'trash',
        runAll: (rows) => together(rows, 'trash'),
      },
      DELETE,
    ],
  }
}

/** What can be done with files in the trash. */
export function trashInBulk<Row extends Named>(changed: () => unknown): Bulk<Row> {
  return {
    nameOf: ({ originalFilename }) => originalFilename,
    changed,
    actions: [
      {
        label: 'Restore',
        done: 'restored',
        icon: 'refresh',
        runAll: (rows) => together(rows, 'restore'),
      },
      DELETE,
    ],
  }
}
