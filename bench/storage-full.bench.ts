import { join } from 'node:path'
import { s3Missing, startS3 } from '../test/servers/s3.ts'
import type { Row } from './harness.ts'
import { runSections } from './storage/sections.ts'
import { smallUploads } from './storage/small-uploads.ts'
import { listings } from './storage-full/listings.ts'
import { localTransfers } from './storage-full/local-transfers.ts'
import { memory } from './storage-full/memory.ts'
import { objectTransfers } from './storage-full/object-transfers.ts'
import { songUpload, withService } from './storage-full/service.ts'
import { thumbnails } from './storage-full/thumbnails.ts'

export default async function bench(): Promise<Row[]> {
  return runSections({
    local: localTransfers,
    small: (folder) =>
      withService(join(folder, 'small'), async (service) => {
        const load = { folder, request: (bytes: number) => songUpload(service, bytes) }
        return [
          await smallUploads('storage-full', service, load),
          await smallUploads('storage-full', service, { ...load, rows: true }),
        ]
      }),
    memory,
    thumbnails,
    lists: listings,
    object: throughBucket,
  })
}

async function throughBucket(folder: string): Promise<Row[]> {
  if (await s3Missing()) return []
  const cleanups: (() => Promise<void> | void)[] = []
  try {
    const s3 = await startS3({ after: (work) => cleanups.push(work) })
    return await objectTransfers(folder, s3.settings)
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}
