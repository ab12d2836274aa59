import { countReplies, type Result, type Server } from '@plinth/kit/http'
import { measureDisks } from '@plinth/kit/metrics'
import { sumTrashBytes } from '../deletions/deletions.repository.ts'
import type { Storage } from '../storage.ts'
import { sumBytes, sumVersions } from './usage.repository.ts'

const COUNT_EVERY_SECONDS = 60
/** The trash of a month may have very many rows, and nothing acts on it within minutes. */
const COUNT_RARELY_SECONDS = 600

type Folders = { dataFolder: string; root: string }

/** Metrics about files. Call it before the routes are added. */
export function measureStorage(
  server: Server,
  { db, clock }: Storage,
  { dataFolder, root }: Folders,
) {
  const { metrics } = server
  const countResult = countReplies(
    server,
    { name: 'plinth_uploads_total', help: 'Uploads by result.' },
    { 'POST /file': {}, 'PUT /file/:id': {} },
  )
  metrics.gauge(
    { name: 'plinth_stored_bytes', help: 'Size of all stored files.' },
    () => sumBytes(db),
    COUNT_EVERY_SECONDS,
  )
  metrics.gauge(
    { name: 'plinth_version_bytes', help: 'Size of the earlier versions of stored files.' },
    () => sumVersions(db),
    COUNT_EVERY_SECONDS,
  )
  metrics.gauge(
    { name: 'plinth_trash_bytes', help: 'Size of the files that can be restored.' },
    () => sumTrashBytes(db, clock()),
    COUNT_RARELY_SECONDS,
  )
  measureDisks(metrics, { data: dataFolder, files: root })
  const countBytes = metrics.counter({
    name: 'plinth_upload_bytes_total',
    help: 'Bytes of files that were stored.',
  })
  return {
    bytes: (stored: number) => countBytes({}, stored),
    result: (result: Result) => countResult(result, {}),
  }
}
