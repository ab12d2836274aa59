import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { drive, ofRates } from '../../harness/compare.ts'
import { atLeast, perSecond, type Row } from '../../harness/row.ts'
import { SECONDS } from '../../harness/settings.ts'
import { middleTurn } from '../../harness/turns.ts'
import { authorized, upload, withService } from './service.ts'

const TURNS = 5
const BAR = 0.8

/** A kept rendition, against a download of a file of the same size from the same service. */
export async function pictures(folder: string): Promise<Row[]> {
  const photo = join(folder, 'photo.jpg')
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
  const create = { width: 1000, height: 750, channels: 3, background: '#888', noise } as const
  await sharp({ create }).jpeg().toFile(photo)
  return withService(join(folder, 'data'), async (service) => {
    const headers = { ...authorized(service), accept: 'image/webp' }
    const { id } = await upload(service, photo, 'image/jpeg')
    const picture = { path: `/file/picture/${id}?width=384`, headers }
    const drawn = await fetch(service.url + picture.path, { headers })
    const bytes = (await drawn.arrayBuffer()).byteLength
    const text = join(folder, 'same-size.txt')
    writeFileSync(text, 'x'.repeat(bytes))
    const plain = await upload(service, text, 'text/plain')
    const download = { path: `/file/download/${plain.id}`, headers }
    for (const request of [picture, download]) await drive(service, request, { seconds: SECONDS })
    const { ours, baseline, ratio } = await middleTurn(TURNS, {
      ours: () => drive(service, picture),
      baseline: () => drive(service, download),
      ratio: ofRates,
      bar: BAR,
    })
    return [
      {
        what: `a kept rendition of ${Math.round(bytes / 1024)} KB, against a download of the same size`,
        ours: perSecond(ours.requestsPerSecond),
        baseline: perSecond(baseline.requestsPerSecond),
        ratio,
        p50Ms: ours.p50Ms,
        p99Ms: ours.p99Ms,
        ...atLeast(BAR, ratio),
      },
    ]
  })
}
