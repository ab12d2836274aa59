import type { StorageApi, StoredFile } from '@plinth/client'
import type { Api, Reply } from '../../shared/api/api.ts'
import { isPassing } from '../../shared/api/passing.ts'
import type { Going, Upload } from '../../shared/files/upload-queue.ts'
import { checksumOf } from './checksum.ts'

/** The version of the protocol, in every request about an upload: https://tus.io/protocols/resumable-upload */
export const TUS = { 'Tus-Resumable': '1.0.0' }
const PIECE_TYPE = 'application/offset+octet-stream'
export const PIECE_BYTES = 8 * 1024 * 1024
const MAX_FAILURES = 8
const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 20_000

type StorageCalls = Api<StorageApi.Replies>

type Sent = Pick<Upload, 'file' | 'folder' | 'uploadId'> & { replaces?: Replaced }

/** The file that gets the new content, and the content that the user has seen. */
export type Replaced = { id: number; etag: string }

type Options = Going & {
  /** Told where the service keeps what arrives; undefined once that is over. */
  onUpload(uploadId: string | undefined): void
}

/** Sends a file in pieces, from where the service is. What breaks off goes on by itself. */
export async function sendInPieces(
  api: StorageCalls,
  sent: Sent,
  options: Options,
): Promise<Reply<StoredFile>> {
  const { signal, onUpload } = options
  let place = await placeOf(api, sent, options)
  const patience = patienceUntil(signal)
  for (;;) {
    const { state, uploadId } = place
    const fileId = state.headers['x-file-id']
    if (state.ok && fileId) return api.get('/file/info/{id}', { path: { id: fileId }, signal })
    const reply = state.ok ? await sendNext(api, sent.file, place, options) : state
    if (reply.ok) {
      patience.renew()
      place = { state: reply, uploadId }
      continue
    }
    if (!signal.aborted && !isPassing(reply)) onUpload(undefined)
    if (!(await patience.lasts(reply))) return reply
    place = await placeOf(api, { ...sent, uploadId }, options)
  }
}

/** The upload, and where the service is with it. */
type Place = { state: Reply; uploadId?: string }

/** Begins again if the service does not know the upload any more, or it is of another file. */
async function placeOf(
  api: StorageCalls,
  sent: Sent,
  { signal, onUpload }: Options,
): Promise<Place> {
  if (sent.uploadId) {
    const state = await ask(api, sent.uploadId, signal)
    if (!isUnknown(state, sent.file)) return { state, uploadId: sent.uploadId }
  }
  const state = await create(api, sent, signal)
  const uploadId = state.ok ? state.headers.location?.split('/').at(-1) : undefined
  onUpload(uploadId)
  return { state, uploadId }
}

function sendNext(api: StorageCalls, file: File, place: Place, going: Going): Promise<Reply> {
  const offset = Number(place.state.headers['upload-offset'])
  going.onProgress(offset / file.size)
  return append(api, { file, uploadId: place.uploadId ?? '', offset }, going)
}

async function create(api: StorageCalls, sent: Sent, signal: AbortSignal): Promise<Reply> {
  const { file, folder, replaces } = sent
  // The service compares it at the end: pieces of two files, of different days, must not become one.
  const checksum = await checksumOf(file)
  const metadata = [
    `filename ${base64(file.name)}`,
    `filetype ${base64(file.type)}`,
    ...(checksum ? [`sha256 ${base64(checksum)}`] : []),
    ...(folder ? [`folder ${base64(folder)}`] : []),
    ...(replaces ? [`replaces ${base64(String(replaces.id))}`] : []),
  ]
  const headers = {
    ...TUS,
    'Upload-Length': String(file.size),
    'Upload-Metadata': metadata.join(),
    ...(replaces && { 'If-Match': replaces.etag }),
  }
  return api.post('/file/uploads', { headers, signal })
}

function ask(api: StorageCalls, uploadId: string, signal: AbortSignal): Promise<Reply> {
  return api.send({ method: 'HEAD', path: `/file/uploads/${uploadId}`, headers: TUS, signal })
}

function append(
  api: StorageCalls,
  { file, uploadId, offset }: { file: File; uploadId: string; offset: number },
  { signal, onProgress }: Going,
): Promise<Reply> {
  const to = Math.min(offset + PIECE_BYTES, file.size)
  return api.patch('/file/uploads/{uploadId}', {
    path: { uploadId },
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

function patienceUntil(signal: AbortSignal) {
  let failures = 0
  return {
    renew: () => {
      failures = 0
    },
    /** Waits for what may pass; false if there is no use in trying again. */
    async lasts(reply: Reply): Promise<boolean> {
      // However long the browser is offline, that is no failure of the upload.
      const isOffline = reply.status === 0 && !navigator.onLine
      if (!isOffline) failures += 1
      if (signal.aborted || failures > MAX_FAILURES || !isPassing(reply)) return false
      const delay = Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), MAX_DELAY_MS)
      await onlineAgain(signal, isOffline ? undefined : delay)
      return !signal.aborted
    },
  }
}

/** Waits until the browser is online again; if `milliseconds` are given, at most for these. */
function onlineAgain(signal: AbortSignal, milliseconds?: number): Promise<void> {
  return new Promise((resolve) => {
    const over = new AbortController()
    const timer = milliseconds === undefined ? undefined : setTimeout(end, milliseconds)
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
