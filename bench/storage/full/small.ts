import { join } from 'node:path'
import type { Row } from '../../harness/row.ts'
import { smallUploads } from '../small-uploads.ts'
import { songUpload, withService } from './service.ts'

/** Against bare writes that also insert a row each, as this edition does. */
export async function small(folder: string): Promise<Row[]> {
  return withService(join(folder, 'data'), async (service) => [
    await smallUploads(service, {
      folder: join(folder, 'bare'),
      upload: (bytes) => songUpload(service, bytes),
      rows: true,
      bar: 0.5,
    }),
  ])
}
