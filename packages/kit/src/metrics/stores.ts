import type { StatsFs } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import type { Metrics } from './metrics.ts'

type Pool = { totalCount: number; idleCount: number; waitingCount: number }

export function measurePool(metrics: Metrics, pool: Pool): void {
  const about = {
    name: 'plinth_db_pool_connections',
    help: 'Connections to the database by state; "waiting" counts requests for one.',
  }
  metrics.gauge(about, () => [
    { labels: { state: 'used' }, value: pool.totalCount - pool.idleCount },
    { labels: { state: 'idle' }, value: pool.idleCount },
    { labels: { state: 'waiting' }, value: pool.waitingCount },
  ])
}

export function measureLog(metrics: Metrics, file: string): void {
  const about = { name: 'plinth_sqlite_wal_bytes', help: 'Size of the write-ahead log of SQLite.' }
  metrics.gauge(about, async () => {
    const found = await stat(`${file}-wal`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    return found?.size ?? []
  })
}

/** `folders` are keyed by role: `data`, `files`. A missing folder is left out. */
export function measureDisks(metrics: Metrics, folders: Record<string, string>): void {
  const gauge = (name: string, help: string, bytes: (disk: StatsFs) => number) =>
    metrics.gauge({ name, help }, async () => {
      const disks = Object.entries(folders).map(async ([role, folder]) => ({
        labels: { role },
        value: bytes(await statfs(folder)),
      }))
      const read = await Promise.allSettled(disks)
      return read.flatMap((disk) => (disk.status === 'fulfilled' ? [disk.value] : []))
    })
  gauge(
    'plinth_disk_free_bytes',
    'Free space on the disk of a folder, as available to this user.',
    ({ bavail, bsize }) => bavail * bsize,
  )
  gauge(
    'plinth_disk_size_bytes',
    'Size of the disk of a folder.',
    ({ blocks, bsize }) => blocks * bsize,
  )
}
