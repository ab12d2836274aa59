import { join } from 'node:path'
import type { Row } from '../../harness/row.ts'
import { MEGABYTES } from '../../harness/settings.ts'
import { memoryGrowth } from '../memory-growth.ts'
import { race } from '../race.ts'
import { curlDownload, writeLargeFile } from '../transfers.ts'
import { authorized, download, type Service, SONG_START, upload, withService } from './service.ts'

const FILES = 8

/** Several files as one archive, against the same files one after the other. */
export async function zip(folder: string): Promise<Row[]> {
  const source = join(folder, 'zip.mp3')
  await writeLargeFile(source, MEGABYTES / FILES, SONG_START)
  return withService(join(folder, 'zip'), async (service) => {
    const ids: number[] = []
    for (let count = 0; count < FILES; count += 1)
      ids.push((await upload(service, source, 'audio/mpeg')).id)
    const path = await archiveOf(service, ids)
    const warmUp = { path: '/file/list?page=0&size=1', headers: authorized(service) }
    // First, because the peak memory of a process never goes down.
    const memory = await memoryGrowth(service, {
      ...{ what: 'downloads of a ZIP archive', warmUp, request: { path } },
    })
    const speed = await race(
      `download ${FILES} files of ${MEGABYTES / FILES} MiB as one ZIP archive, against one after the other`,
      () => curlDownload(service.url + path),
      () => downloadEach(service, ids),
      { megabytes: MEGABYTES, bar: 0.6 },
    )
    return [speed, memory]
  })
}

async function archiveOf(service: Service, ids: number[]): Promise<string> {
  const reply = await fetch(`${service.url}/file/zip`, {
    method: 'POST',
    headers: { ...authorized(service), 'content-type': 'application/json' },
    body: JSON.stringify({ ids }),
  })
  const { token } = (await reply.json()) as { token: string }
  return `/file/zip/${token}`
}

/** The duration in seconds. */
async function downloadEach(service: Service, ids: number[]): Promise<number> {
  let seconds = 0
  for (const id of ids) seconds += await download(service, id)
  return seconds
}
