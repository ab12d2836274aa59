import { join } from 'node:path'
import type { Row } from '../../harness/row.ts'
import type { BenchServer } from '../../harness/server-process.ts'
import { MEGABYTES } from '../../harness/settings.ts'
import { downloadRows } from '../downloads.ts'
import { race } from '../race.ts'
import { copyDurably, curlDownload, curlUpload, writeLargeFile } from '../transfers.ts'
import { HEADERS, KEY_HEADER, PNG_START, withService } from './service.ts'

export async function large(folder: string): Promise<Row[]> {
  const root = join(folder, 'large')
  return withService(root, async (server) => {
    const path = 'large.png'
    const file = join(root, path)
    await writeLargeFile(file, MEGABYTES, PNG_START)
    const ours = () => curlDownload(`${server.url}/file/${path}`, KEY_HEADER)
    return [
      ...(await downloadRows(`download ${MEGABYTES} MiB`, { ours, root, path })),
      await race(
        `upload ${MEGABYTES} MiB, against dd with fsync`,
        () => upload(server, file),
        () => copyDurably(file, join(folder, 'copy')),
        { megabytes: MEGABYTES, bar: 0.7 },
      ),
    ]
  })
}

async function upload(server: BenchServer, path: string): Promise<number> {
  const file = `${path};type=image/png`
  const { answer, seconds } = await curlUpload(`${server.url}/file`, KEY_HEADER, file)
  await fetch(`${server.url}/file/${answer}`, { method: 'DELETE', headers: HEADERS })
  return seconds
}
