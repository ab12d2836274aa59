import { join } from 'node:path'
import type { Row } from '../../harness/row.ts'
import { smallUploads } from '../small-uploads.ts'
import { pngUpload, withService } from './service.ts'

export async function small(folder: string): Promise<Row[]> {
  return withService(join(folder, 'data'), async (server) => [
    await smallUploads(server, {
      folder: join(folder, 'bare'),
      upload: pngUpload,
      rows: false,
      bar: 0.5,
    }),
  ])
}
