import type { StoredFile } from '@plinth/client'
import type { Api, Reply } from '../../shared/api/api.ts'
import type { Going, Upload } from '../../shared/files/upload-queue.ts'

/** The version of the protocol, in every request about an upload: https://tus.io/protocols/resumable-upload */
export const TUS = { 'Tus-Resumable': '1.0.0' }
const PIECE_TYPE = 'application/offset+octet-stream'
export const PIECE_BYTES = 8 * 1024 * 1024
const MOST_FAILURES = 8
const FIRST_DELAY_MS = 500
const LONGEST_DELAY_MS = 20_000
const PASSING = [0, 408, 409, 423, 429, 460]

type Sent = Pick<Upload, 'file' | 'folder' | 'uploadId'> & { replaces?: Replaced }

/** The file that gets the new content, and the content that the user has seen. */
export type Replaced = { id: number; etag: string }

type Options = Going & {
  /** Told where the service keeps what arrives; undefined once that is over. */
  onUpload(uploadId: string | undefined): void
}

/** Sends a file in pieces, from where the service is. What breaks off goes on by itself. */
export async function sendInPieces(
  api: Api,
  sent: Sent,
  options: Options,
): Promise<Reply<StoredFile>> {
  const { signal, onUpload } = options
  let place = await placeOf(api, sent, options)
  for (let failures = 0; ; ) {
    const { state, uploadId } = place
    const fileId = state.headers['x-file-id']
    if (state.ok && fileId) return api.get<StoredFile>(`/file/info/${fileId}`, { signal })
    const reply = state.ok ? await sendNext(api, sent.file, place, options) : state
    if (reply.ok) {
      failures = 0
      place = { state: reply, uploadId }
      continue
    }
    failures += 1
    if (signal.aborted || failures > MOST_FAILURES) return reply
    if (!isPassing(reply)) {
      onUpload(undefined)
      return reply
    }
    await delayed(Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LONGEST_DELAY_MS), signal)
    if (signal.aborted) return reply
    place = await placeOf(api, { ...sent, uploadId }, options)
  }
}

/** The upload, and where the service is with it. */
type Place = { state: Reply; uploadId?: string }

/** Begins again if the service does not know the upload any more, or it is of another file. */
async function placeOf(api: Api, sent: Sent, { signal, onUpload }: Options): Promise<Place> {
  if (sent.uploadId) {
    const state = await ask(api, sent.uploadId, signal)
    if (!isUnknown(state, sent.file)) return { state, uploadId: sent.uploadId }
  }
  const state = await create(api, sent, signal)
  const uploadId = state.ok ? state.headers.location?.split('/').at(-1) : undefined
  onUpload(uploadId)
  return { state, uploadId }
}

function sendNext(api: Api, file: File, place: Place, going: Going): Promise<Reply> {
  const offset = Number(place.state.headers['upload-offset'])
  going.onProgress(offset / file.size)
  return append(api, { file, uploadId: place.uploadId ?? '', offset }, going)
}

function create(api: Api, { file, folder, replaces }: Sent, signal: AbortSignal): Promise<Reply> {
  const metadata = [
    `filename ${base64(file.name)}`,
    `filetype ${base64(file.type)}`,
    ...(folder ? [`folder ${base64(folder)}`] : []),
    ...(replaces ? [`replaces ${base64(String(replaces.id))}`] : []),
  ]
  const headers = {
    ...TUS,
    'Upload-Length': String(file.size),
    'Upload-Metadata': metadata.join(),
    ...(replaces && { 'If-Match': replaces.etag }),
  }
  return api.send({ method: 'POST', path: '/file/uploads', headers, signal })
}

function ask(api: Api, uploadId: string, signal: AbortSignal): Promise<Reply> {
  return api.send({ method: 'HEAD', path: `/file/uploads/${uploadId}`, headers: TUS, signal })
}

function append(
  api: Api,
  { file, uploadId, offset }: { file: File; uploadId: string; offset: number },
  { signal, onProgress }: Going,
): Promise<Reply> {
  const to = Math.min(offset + PIECE_BYTES, file.size)
  return api.send({
    method: 'PATCH',
    path: `/file/uploads/${uploadId}`,
    headers: { ...TUS, 'Upload-Offset': String(offset), 'Content-Type': PIECE_TYPE },
    piece: { file, from: offset, to },
    signal,
    onProgress: (share) => onProgress((offset + share * (to - offset)) / file.size),
  })
}

function isUnknown({ ok, status, headers }: Reply, file: File): boolean {
  if (ok) return Number(headers['upload-length']) !== file.size
  return status === 404 || status === 410
}

/** Whether the same may work a moment later. */
function isPassing({ status }: Reply): boolean {
  return PASSING.includes(status) || status >= 500
}

/** Goes on at once when the browser is online again. */
function delayed(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = new AbortController()
    const timer = setTimeout(end, milliseconds)
    function end() {
      clearTimeout(timer)
      over.abort()
      resolve()
    }
    addEventListener('online', end, { signal: over.signal })
    signal.addEventListener('abort', end, { signal: over.signal })
  })
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}
