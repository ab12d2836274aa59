import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { type BenchRequest, drive, ofRates } from '../../harness/compare.ts'
import { atLeast, perSecond, type Row } from '../../harness/row.ts'
import { startServer } from '../../harness/server-process.ts'
import { SECONDS } from '../../harness/settings.ts'
import { middleTurn } from '../../harness/turns.ts'
import { authorized, type Service, upload, withService } from './service.ts'

const BYTES = 10 * 1024
const TURNS = 3

/** Small files, against a bare server that opens, reads and closes a file of the same size for each request. */
export async function downloads(folder: string): Promise<Row[]> {
  const text = join(folder, 'small.txt')
  writeFileSync(text, 'x'.repeat(BYTES))
  const photo = join(folder, 'photo.png')
  const noise = { type: 'gaussian', mean: 128, sigma: 12 } as const
  const create = { width: 600, height: 600, channels: 3, background: '#888', noise } as const
  await sharp({ create }).png().toFile(photo)
  const bare = await startServer('bench/baselines/bare-files.ts', 'BARE_PORT', {
    BARE_FILE: text,
    BARE_BYTES: String(BYTES),
  })
  const against = async (what: string, service: Service, request: BenchRequest, bar: number) => {
    for (const server of [service, bare]) await drive(server, request, { seconds: SECONDS / 2 })
    const { ours, baseline, ratio } = await middleTurn(TURNS, {
      ours: () => drive(service, request),
      baseline: () => drive(bare, request),
      ratio: ofRates,
      bar,
    })
    const { requestsPerSecond, p50Ms, p99Ms } = ours
    return {
      what: `${what}, against node:http that reads a file`,
      ours: perSecond(requestsPerSecond),
      baseline: perSecond(baseline.requestsPerSecond),
      ratio,
      p50Ms,
      p99Ms,
      peakMb: service.peakMemoryMb(),
      ...atLeast(bar, ratio),
    }
  }
  try {
    return await withService(join(folder, 'data'), async (service) => {
      const headers = authorized(service)
      const { id } = await upload(service, text, 'text/plain')
      const picture = await upload(service, photo, 'image/png')
      const link = await linkTo(service, id)
      const download = { path: `/file/download/${id}`, headers }
      const thumbnail = { path: `/file/thumbnail/${picture.id}`, headers }
      return [
        await against('download 10 KB', service, download, 0.3),
        await against('a kept thumbnail', service, thumbnail, 0.3),
        await against('10 KB through a link, each opening recorded', service, link, 0.2),
      ]
    })
  } finally {
    await bare.stop()
  }
}

async function linkTo(service: Service, id: number): Promise<BenchRequest> {
  const reply = await fetch(`${service.url}/file/generate-pre-signed-url`, {
    method: 'POST',
    headers: { ...authorized(service), 'content-type': 'application/json' },
    body: JSON.stringify({ id, expiresInSeconds: 3600 }),
  })
  const { token } = (await reply.json()) as { token: string }
  return { path: `/file/presigned/${token}` }
}
