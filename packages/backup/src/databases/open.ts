import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeDataFolder } from '@plinth/kit/runtime'
import { BackupError } from '../faults.ts'
import { createForOwner } from '../sources/owner.ts'
import { isPostgresInUse, openPostgres, openPostgresSnapshot } from './postgres.repository.ts'
import { isSqliteInUse, openSqlite, openSqliteSnapshot } from './sqlite.repository.ts'
import type { Connection, Snapshot } from './tables.ts'

/** The file of a SQLite database; undefined for PostgreSQL. */
export function fileOf(url: string): string | undefined {
  return url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined
}

/** Opens a database for writing. Creates a missing SQLite file. */
export async function openConnection(url: string): Promise<Connection> {
  const file = fileOf(url)
  if (file === undefined) return reaching(url, () => openPostgres(url))
  makeDataFolder(dirname(file), 'SUITE_DATA or …_DATABASE_URL')
  // Before it is opened, because SQLite gives the WAL and its index the owner and mode of the file.
  if (!existsSync(file)) await createForOwner(file)
  return openSqlite(file)
}

async function openSnapshot(url: string): Promise<Snapshot> {
  const file = fileOf(url)
  if (file === undefined) return reaching(url, () => openPostgresSnapshot(url))
  if (!existsSync(file))
    throw new BackupError('refused', `There is no database file ${file}: start the services first.`)
  return openSqliteSnapshot(file)
}

export async function isInUse(url: string): Promise<boolean> {
  const file = fileOf(url)
  return file === undefined ? reaching(url, () => isPostgresInUse(url)) : isSqliteInUse(file)
}

/** Refuses a database that a running service uses. */
export async function requireUnused(name: string, url: string): Promise<void> {
  if (!(await isInUse(url))) return
  const pooler = fileOf(url) === undefined ? ' Connections that a pooler keeps count as well.' : ''
  throw new BackupError('unavailable', `${name} is running on this data: stop it first.${pooler}`)
}

/** Names a database that does not answer in the error, without the password in its URL. */
async function reaching<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { host, pathname } = new URL(url)
    const { message, code } = error as NodeJS.ErrnoException
    const name = `The database "${pathname.slice(1)}" at ${host}`
    const sentence = `${name} cannot be used: ${message || code}.`
    throw new BackupError('unavailable', sentence, { cause: error })
  }
}

/**
 * Snapshots of all databases at one moment. Writers to SQLite files are blocked while the readers are
 * pinned, which takes milliseconds. PostgreSQL databases are pinned within the same pause, which is as
 * close to one moment as several of them get. `pausedMs` is how long writers waited.
 */
export async function openSnapshots(
  urls: string[],
): Promise<{ snapshots: Snapshot[]; pausedMs: number; close(): Promise<void> }> {
  const snapshots: Snapshot[] = []
  const close = async () => {
    await Promise.all(snapshots.map((snapshot) => snapshot.close()))
  }
  try {
    for (const url of urls) snapshots.push(await openSnapshot(url))
    const since = performance.now()
    // Always lock in the same order, so that two backups cannot deadlock.
    for (const snapshot of snapshots) await snapshot.lock()
    await Promise.all(snapshots.map((snapshot) => snapshot.pin()))
    for (const snapshot of snapshots) snapshot.release()
    return { snapshots, pausedMs: performance.now() - since, close }
  } catch (error) {
    await close()
    throw error
  }
}
