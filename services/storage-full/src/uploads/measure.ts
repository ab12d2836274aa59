import type { Metrics } from '@plinth/kit/metrics'
import type { Storage } from '../files/storage.ts'
import { sumUploads } from './uploads.repository.ts'

const COUNT_EVERY_SECONDS = 60

export function measureUploads(metrics: Metrics, { db }: Storage): void {
  metrics.gauge(
    { name: 'plinth_unfinished_uploads', help: 'Resumable uploads that have not finished.' },
    async () => (await sumUploads(db)).uploads,
    COUNT_EVERY_SECONDS,
  )
  metrics.gauge(
    { name: 'plinth_unfinished_upload_bytes', help: 'Bytes received of these uploads.' },
    async () => (await sumUploads(db)).bytes,
    COUNT_EVERY_SECONDS,
  )
  metrics.gauge(
    {
      name: 'plinth_waiting_uploads',
      help: 'Resumable uploads whose bytes are all there, but that are no files yet.',
    },
    async () => (await sumUploads(db)).waiting,
    COUNT_EVERY_SECONDS,
  )
}
