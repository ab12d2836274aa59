import { createReadStream, statSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Row } from '../../harness/row.ts'
import { MEGABYTES } from '../../harness/settings.ts'
import { race } from '../race.ts'
import { writeLargeFile } from '../transfers.ts'
import { authorized, remove, type Service, SONG_START, upload, withService } from './service.ts'

const CHUNK_BYTES = 8 * 2 ** 20
const TUS = { 'tus-resumable': '1.0.0' }

/** One large file in pieces, against the same file as a form. */
export async function resumable(folder: string): Promise<Row[]> {
  const source = join(folder, 'resumable.mp3')
  await writeLargeFile(source, MEGABYTES, SONG_START)
  return withService(join(folder, 'resumable'), async (service) => [
    await race(
      `upload ${MEGABYTES} MiB to LOCAL by tus in 8 MiB requests, against one form`,
      () => uploadInPieces(service, source),
      async () => {
        const stored = await upload(service, source, 'audio/mpeg')
        await remove(service, stored.id)
        return stored.seconds
      },
      { megabytes: MEGABYTES, bar: 0.7 },
    ),
  ])
}

/** The duration in seconds. */
async function uploadInPieces(service: Service, path: string): Promise<number> {
  const { size } = statSync(path)
  const started = performance.now()
  const created = await fetch(`${service.url}/file/uploads`, {
    method: 'POST',
    headers: {
      ...{ ...authorized(service), ...TUS },
      'upload-length': String(size),
      'upload-metadata': `filename ${Buffer.from('a.mp3').toString('base64')}`,
    },
  })
  const url = service.url + created.headers.get('location')
  let fileId = 0
  for (let offset = 0; offset < size; offset += CHUNK_BYTES)
    fileId = await sendPiece(service, {
      url,
      path,
      offset,
      end: Math.min(offset + CHUNK_BYTES, size),
    })
  const seconds = (performance.now() - started) / 1000
  await remove(service, fileId)
  return seconds
}

type Piece = { url: string; path: string; offset: number; end: number }

/** Returns the id of the file, once there is one. */
async function sendPiece(service: Service, { url, path, offset, end }: Piece): Promise<number> {
  const sent = request(url, {
    method: 'PATCH',
    headers: {
      ...{ ...authorized(service), ...TUS },
      'content-type': 'application/offset+octet-stream',
      'content-length': end - offset,
      'upload-offset': offset,
    },
  })
  const replied = new Promise<IncomingMessage>((resolve) => sent.once('response', resolve))
  await pipeline(
    createReadStream(path, { start: offset, end: end - 1, highWaterMark: 2 ** 18 }),
    sent,
  )
  const reply = await replied
  reply.resume()
  if (reply.statusCode !== 204) throw new Error(`The service answered ${reply.statusCode}`)
  return Number(reply.headers['x-file-id'] ?? 0)
}
