import { countReplies, type Server } from '@plinth/kit/http'
import { measureDisks } from '@plinth/kit/metrics'
import type { Storage } from '../storage.ts'
import { sumBytes } from './usage.repository.ts'

const COUNT_EVERY_SECONDS = 60

type Folders = { dataFolder: string; root: string }

/** Metrics about files. Call it before the routes are added. Returns what counts the bytes of stored files. */
export function measureStorage(
  server: Server,
  { db }: Storage,
  { dataFolder, root }: Folders,
): (bytes: number) => void {
  const { metrics } = server
  countReplies(
    server,
    { name: 'plinth_uploads_total', help: 'Uploads by result.' },
    { 'POST /file': {} },
  )
  metrics.gauge(
    { name: 'plinth_stored_bytes', help: 'Size of all stored files.' },
    () => sumBytes(db),
    COUNT_EVERY_SECONDS,
  )
  measureDisks(metrics, { data: dataFolder, files: root })
  const countBytes = metrics.counter({
    name: 'plinth_upload_bytes_total',
    help: 'Bytes of files that were stored.',
  })
  return (bytes) => countBytes({}, bytes)
}
