import { join } from 'node:path'
import sharp from 'sharp'
import { type BenchRequest, drive } from '../../harness/compare.ts'
import { atMost, type Row } from '../../harness/row.ts'
import { PICTURES } from '../../harness/settings.ts'
import { type Service, upload, withService } from './service.ts'

const MAX_GROWTH_MB = 150
const MAX_SLOWDOWN = 5

/** Requests all thumbnails of 24-megapixel photos at once, while other clients list files. */
export async function thumbnails(folder: string): Promise<Row[]> {
  const photo = join(folder, 'photo.jpg')
  await writePhoto(photo)
  return withService(join(folder, 'thumbnails'), async (service) => {
    const ids: number[] = []
    while (ids.length < PICTURES) ids.push((await upload(service, photo, 'image/jpeg')).id)
    const list = {
      path: '/file/list?page=0&size=20',
      headers: { authorization: `Bearer ${service.token}` },
    }
    const idle = await idleP99(service, list)
    const idleMb = service.memoryMb() ?? 0

    const started = performance.now()
    const making = Promise.all(ids.map((id) => thumbnail(service, id)))
    const busy = await drive(service, list, { connections: 2 })
    await making
    const perSecond = PICTURES / ((performance.now() - started) / 1000)

    const grown = (service.peakMemoryMb() ?? 0) - idleMb
    const slowdown = busy.p99Ms / idle
    return [
      {
        what: 'thumbnails of 24-megapixel photos',
        ours: `${perSecond.toFixed(1)}/s`,
      },
      {
        what: `memory over idle while ${PICTURES} thumbnails are asked for at once`,
        ours: `${Math.round(grown)} MB`,
        ...atMost(MAX_GROWTH_MB, grown, ' MB'),
        peakMb: service.peakMemoryMb(),
      },
      {
        what: 'p99 of a list at the same time, against idle',
        ours: `${busy.p99Ms.toFixed(1)} ms`,
        baseline: `${idle.toFixed(1)} ms`,
        ratio: slowdown,
        ...atMost(MAX_SLOWDOWN, slowdown),
      },
    ]
  })
}

/** The better of two turns after a warm-up: a disturbed idle turn would make the slowdown look smaller. */
async function idleP99(service: Service, list: BenchRequest): Promise<number> {
  const turns: number[] = []
  while (turns.length < 3) turns.push((await drive(service, list, { connections: 2 })).p99Ms)
  return Math.min(...turns.slice(1))
}

async function thumbnail({ url, token }: Service, id: number): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const reply = await fetch(`${url}/file/thumbnail/${id}`, { headers })
  if (reply.headers.get('content-type') !== 'image/jpeg') throw new Error('No thumbnail was made.')
  await reply.arrayBuffer()
}

async function writePhoto(path: string): Promise<void> {
  const noise = { type: 'gaussian', mean: 128, sigma: 30 } as const
  const create = { width: 6000, height: 4000, channels: 3, background: '#888', noise } as const
  await sharp({ create }).jpeg({ quality: 85 }).toFile(path)
}
