import { createReadStream, createWriteStream, statSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Row } from '../../harness/row.ts'
import { MEGABYTES } from '../../harness/settings.ts'
import { race } from '../race.ts'
import { curlPieces, type Piece, writeLargeFile } from '../transfers.ts'
import { activateObject, withBucket } from './object.ts'
import { authorized, remove, type Service, SONG_START, upload, withService } from './service.ts'

const PIECE_BYTES = 8 * 2 ** 20
const TUS = { 'tus-resumable': '1.0.0' }

/** One large file in pieces, against the same file as a form. */
export async function resumable(folder: string): Promise<Row[]> {
  const source = join(folder, 'resumable.mp3')
  await writeLargeFile(source, MEGABYTES, SONG_START)
  const large: Large = { source, megabytes: MEGABYTES, pieces: await split(source, folder) }
  return withService(join(folder, 'resumable'), async (service) => [
    await againstForm(service, large, { provider: 'LOCAL', bar: 0.7 }),
  ])
}

/** The same with a bucket behind the service, which gets the pieces as parts. */
export async function resumableObject(folder: string): Promise<Row[]> {
  const source = join(folder, 'resumable.mp3')
  const megabytes = Math.min(256, MEGABYTES)
  await writeLargeFile(source, megabytes, SONG_START)
  const large: Large = { source, megabytes, pieces: await split(source, folder) }
  return withBucket((settings) =>
    withService(join(folder, 'resumable'), async (service) => {
      await activateObject(service, settings)
      return [await againstForm(service, large, { provider: 'OBJECT', bar: 0.5 })]
    }),
  )
}

type Large = { source: string; megabytes: number; pieces: Piece[] }

function againstForm(
  service: Service,
  { source, megabytes, pieces }: Large,
  { provider, bar }: { provider: string; bar: number },
): Promise<Row> {
  return race(
    `upload ${megabytes} MiB to ${provider} by tus in 8 MiB requests, against one form`,
    () => uploadInPieces(service, statSync(source).size, pieces),
    async () => {
      const stored = await upload(service, source, 'audio/mpeg')
      await remove(service, stored.id)
      return stored.seconds
    },
    { megabytes, bar },
  )
}

async function split(source: string, folder: string): Promise<Piece[]> {
  const pieces: Piece[] = []
  for (let start = 0; start < statSync(source).size; start += PIECE_BYTES) {
    const path = join(folder, `piece-${start}`)
    const end = start + PIECE_BYTES - 1
    await pipeline(createReadStream(source, { start, end }), createWriteStream(path))
    pieces.push({ path, header: `Upload-Offset: ${start}` })
  }
  return pieces
}

/** The duration in seconds. */
async function uploadInPieces(service: Service, size: number, pieces: Piece[]): Promise<number> {
  const created = await fetch(`${service.url}/file/uploads`, {
    method: 'POST',
    headers: {
      ...{ ...authorized(service), ...TUS },
      'upload-length': String(size),
      'upload-metadata': `filename ${Buffer.from('a.mp3').toString('base64')}`,
    },
  })
  const headers = [
    `Authorization: Bearer ${service.token}`,
    'Tus-Resumable: 1.0.0',
    'Content-Type: application/offset+octet-stream',
  ]
  const url = service.url + created.headers.get('location')
  const { replies, seconds } = await curlPieces(url, headers, pieces)
  await remove(service, Number(/x-file-id: (\d+)/i.exec(replies)?.[1]))
  return seconds
}
