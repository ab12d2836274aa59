import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import type { BenchRequest } from '../../harness/compare.ts'
import type { Row } from '../../harness/row.ts'
import { MEGABYTES } from '../../harness/settings.ts'
import { memoryGrowth } from '../memory-growth.ts'
import { writeLargeFile } from '../transfers.ts'
import { authorized, type Service, SONG_START, songUpload, upload, withService } from './service.ts'

const TEN_MEGABYTES = 10 * 2 ** 20 - 1000

export async function memory(folder: string): Promise<Row[]> {
  const source = join(folder, 'large.mp3')
  await writeLargeFile(source, MEGABYTES, SONG_START)
  return [
    await growth(folder, 'downloads', async (service) => {
      const { id } = await upload(service, source, 'audio/mpeg')
      return { path: `/file/download/${id}`, headers: authorized(service) }
    }),
    await growth(folder, '10 KB uploads', (service) => songUpload(service, 10 * 1024)),
    await growth(folder, '10 MB uploads', (service) => songUpload(service, TEN_MEGABYTES)),
    await growth(folder, '10 MB uploads by tus', (service) => tusUpload(service, TEN_MEGABYTES)),
    await growth(folder, 'kept pictures', keptPicture),
    await growth(folder, 'searches', (service) => ({
      path: '/file/search?q=large',
      headers: authorized(service),
    })),
  ]
}

/** Creation with all bytes, in one request. */
function tusUpload(service: Service, bytes: number): BenchRequest {
  return {
    method: 'POST',
    path: '/file/uploads',
    headers: {
      ...authorized(service),
      'tus-resumable': '1.0.0',
      'upload-length': String(bytes),
      'upload-metadata': `filename ${Buffer.from('a.mp3').toString('base64')}`,
      'content-type': 'application/offset+octet-stream',
    },
    body: Buffer.concat([SONG_START, Buffer.alloc(bytes - SONG_START.length, 1)]),
  }
}

async function keptPicture(service: Service): Promise<BenchRequest> {
  const photo = join(tmpdir(), `plinth-bench-${process.pid}.jpg`)
  await sharp({ create: { width: 1000, height: 750, channels: 3, background: '#888' } })
    .jpeg()
    .toFile(photo)
  const { id } = await upload(service, photo, 'image/jpeg')
  rmSync(photo)
  const picture = { path: `/file/picture/${id}?width=384`, headers: authorized(service) }
  await (await fetch(service.url + picture.path, { headers: picture.headers })).arrayBuffer()
  return picture
}

/** Each load has its own process, because the peak memory of a process never goes down. */
async function growth(
  folder: string,
  what: string,
  requestOf: (service: Service) => Promise<BenchRequest> | BenchRequest,
): Promise<Row> {
  return withService(join(folder, what), async (service) => {
    const request = await requestOf(service)
    const warmUp = { path: '/file/list?page=0&size=1', headers: authorized(service) }
    return memoryGrowth(service, { what, warmUp, request })
  })
}
