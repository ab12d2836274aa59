import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../problems.ts'

/**
 * Marks data that a restore or a move is filling: a table of that name in a database, a hidden file in a folder. It is
 * incomplete until the mark is gone.
 */
export const RESTORE_MARK = 'restore_in_progress'

/** Where a restore keeps its journal, from before it changes anything until all of it is whole. */
export function restoreJournal(dataFolder: string): string {
  return join(dataFolder, `.${RESTORE_MARK}`)
}

/** When the restore into this data folder began that has not ended; undefined if there is none. */
export function unfinishedSince(dataFolder: string): string | undefined {
  const file = restoreJournal(dataFolder)
  if (!existsSync(file)) return undefined
  try {
    return String(JSON.parse(readFileSync(file, 'utf8')).since)
  } catch {
    return 'an unknown time'
  }
}

export function refuseUnfinishedRestore({ dataFolder }: { dataFolder: string }): void {
  const since = unfinishedSince(dataFolder)
  if (since !== undefined)
    throw new StartError(
      `A restore into ${dataFolder}, begun at ${since}, has not ended: it is not whole. Wait for it, or run ` +
        'plinth restore with the archive again; it needs no --replace.',
    )
}
