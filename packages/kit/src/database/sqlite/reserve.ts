import { randomBytes } from 'node:crypto'
import { lstat, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { giveFileToOwner } from '../../runtime/data-folder.ts'
import { databaseFault } from '../engine.ts'

const RESERVE_BYTES = 2 ** 20

/** Runs work that frees disk space. */
export type WithReserve = <R>(work: () => Promise<R>) => Promise<R>

/**
 * SQLite needs disk space even to delete a row, so on a full disk nothing could be deleted. A file next to
 * the database reserves some: when the work runs out of space, the file is removed and the work retried.
 */
export async function openReserve<T>(db: Kysely<T>, file: string): Promise<WithReserve> {
  const path = `${file}-reserve`
  let isReserved = await fill(path)
  const reserveAgain = async () => {
    // While there is space: a checkpoint may need some, and without it the WAL would take all that was reserved.
    await reuseLog(db)
    isReserved = await fill(path)
  }
  return async (work) => {
    try {
      const result = await work()
      if (!isReserved) await reserveAgain()
      return result
    } catch (error) {
      if (databaseFault(error) !== 'full') throw error
    }
    await rm(path, { force: true })
    await reuseLog(db)
    try {
      return await work()
    } finally {
      await reserveAgain()
    }
  }
}

/** Whether there is a reserve now. A full disk has no space for it. */
async function fill(path: string): Promise<boolean> {
  const present = await lstat(path).catch(() => undefined)
  if (present?.isFile() && present.size === RESERVE_BYTES) return true
  await rm(path, { force: true })
  return create(path).then(
    () => true,
    () => rm(path, { force: true }).then(() => false),
  )
}

/** Random bytes, so that no file system compresses them. Never through a link, which root might follow elsewhere. */
async function create(path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    giveFileToOwner(file.fd, dirname(path))
    await file.writeFile(randomBytes(RESERVE_BYTES))
  } finally {
    await file.close()
  }
}

/** After this checkpoint SQLite writes its WAL from the start again, which takes no more space. */
async function reuseLog<T>(db: Kysely<T>): Promise<void> {
  await sql`pragma wal_checkpoint(restart)`.execute(db).catch((error) => {
    if (databaseFault(error) === undefined) throw error
  })
}
