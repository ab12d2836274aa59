import { join } from 'node:path'
import type { Row } from './harness.ts'
import { runSections } from './storage/sections.ts'
import { smallUploads } from './storage/small-uploads.ts'
import { largeFiles } from './storage-key/large-files.ts'
import { listings } from './storage-key/listings.ts'
import { memory } from './storage-key/memory.ts'
import { pngUpload, withService } from './storage-key/service.ts'

export default async function bench(): Promise<Row[]> {
  return runSections({
    large: largeFiles,
    small: (folder) =>
      withService(join(folder, 'small'), async (server) => [
        await smallUploads('storage-key', server, { folder, request: pngUpload }),
      ]),
    lists: listings,
    memory,
  })
}
