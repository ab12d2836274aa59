import { join } from 'node:path'
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
  ]
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
