import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Row } from '../../harness/row.ts'
import { MEGABYTES } from '../../harness/settings.ts'
import { downloadRows } from '../downloads.ts'
import { race } from '../race.ts'
import { copyDurably, writeLargeFile } from '../transfers.ts'
import { download, remove, type Service, SONG_START, upload, withService } from './service.ts'

/** Uploads and downloads of one large file in a folder. */
export async function local(folder: string): Promise<Row[]> {
  const source = join(folder, 'large.mp3')
  await writeLargeFile(source, MEGABYTES, SONG_START)
  const data = join(folder, 'local')
  return withService(data, async (service) => [
    ...(await downloads(service, source, join(data, 'storage-full/files'))),
    await race(
      `upload ${MEGABYTES} MiB to LOCAL with its SHA-256, against dd with fsync`,
      async () => {
        const stored = await upload(service, source, 'audio/mpeg')
        await remove(service, stored.id)
        return stored.seconds
      },
      () => copyDurably(source, join(folder, 'copy')),
      { megabytes: MEGABYTES, bar: 0.5 },
    ),
  ])
}

async function downloads(service: Service, source: string, root: string): Promise<Row[]> {
  const { id } = await upload(service, source, 'audio/mpeg')
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' })
  const path = names.find((name) => name.endsWith('.mp3')) ?? ''
  return downloadRows(`download ${MEGABYTES} MiB from LOCAL`, {
    ours: () => download(service, id),
    root,
    path,
  })
}
