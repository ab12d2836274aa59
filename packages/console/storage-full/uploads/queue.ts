import type { StoredFile, Upload as StoredUpload } from '@plinth/client'
import { signal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import { serverAheadMs } from '../../shared/api/transport.ts'
import { createUploadQueue, type Going, type Upload } from '../../shared/files/upload-queue.ts'
import { addFile, readUsage, who } from '../files/library.ts'
import { isNewFolder, ROOT, relistFolders } from '../folders/folders.ts'
import { ownerId, session } from '../session.ts'
import { checksumOf } from './checksum.ts'
import { forgetUploadsOf, keptOf, keptUploads, noteUploadOf } from './kept-uploads.ts'
import { PIECE_BYTES, sendInPieces, TUS } from './resumable.ts'

/** A file that fits into one piece is sent as a form, in one request. */
const isLarge = (file: File) => file.size > PIECE_BYTES

export const queue = createUploadQueue<StoredFile>({
  send,
  onStored: (file) => {
    addFile(file)
    if (isNewFolder(file.folder)) relistFolders()
    if (unfinished.value.length > 0) listUnfinished()
  },
  canPause: isLarge,
  onCancelled: ({ uploadId }) => uploadId && abortUpload(uploadId),
  keeping: keptUploads(() => who.value),
})

async function send(upload: Upload, going: Going): Promise<Reply<StoredFile>> {
  const { file, folder, id } = upload
  if (!isLarge(file) && !upload.uploadId) {
    const earlier = await storedMeanwhile(upload)
    if (earlier) return earlier
    const query = folder && folder !== '/' ? `folder=${encodeURIComponent(folder)}` : ''
    return session.api.post('/file', { query, file, ...going })
  }
  const onUpload = (uploadId: string | undefined) => {
    queue.noteUpload(id, uploadId)
    if (upload.key) noteUploadOf(upload.key, uploadId)
  }
  return sendInPieces(session.api, upload, { ...going, onUpload })
}

const TOLERATED_MS = 10_000

/** The page may have been left between the end of a form and its answer. */
async function storedMeanwhile({ file, folder = ROOT, keptAt }: Upload) {
  if (keptAt === undefined) return undefined
  const size = String(file.size)
  const since = new Date(keptAt + serverAheadMs.value - TOLERATED_MS).toISOString()
  const owner = session.isAdmin.value && { ownerId: ownerId.value }
  const wanted = {
    folder,
    createdAfter: since,
    minSize: size,
    maxSize: size,
    size: '500',
    ...owner,
  }
  const reply = await session.api.get('/file/search', { query: `${new URLSearchParams(wanted)}` })
  if (!reply.ok) return undefined
  const namesakes = reply.body.content.filter(
    ({ originalFilename }) => originalFilename === file.name,
  )
  const checksum = namesakes.length > 0 && (await checksumOf(file))
  const found = namesakes.find(({ checksumSha256 }) => checksumSha256 === checksum)
  return found && { ...reply, body: found }
}

/** The user's uploads that the service has only a part of, from whatever browser. */
export const unfinished = signal<StoredUpload[]>([])

export async function listUnfinished(): Promise<void> {
  const asker = who.value
  const reply = await session.api.get('/file/uploads', { silent: true })
  if (asker !== who.value) return
  unfinished.value = reply.ok ? reply.body.filter(({ fileId }) => fileId === null) : []
}

export async function abortUpload(uploadId: string): Promise<Reply> {
  const reply = await session.api.delete('/file/uploads/{uploadId}', {
    path: { uploadId },
    headers: TUS,
  })
  await Promise.all([listUnfinished(), readUsage()])
  return reply
}

let user: string | undefined

/** What one user has chosen must not be sent, or shown, as another; a reload finds it again. */
who.subscribe((next) => {
  const before = user
  user = next
  if (before === next) return
  queue.forget()
  unfinished.value = []
  if (before) forgetUploadsOf(before)
  if (next) goOn(next)
})

async function goOn(next: string): Promise<void> {
  const [kept] = await Promise.all([keptOf(next), listUnfinished()])
  if (kept.length > 0 && who.value === next) await queue.add(kept)
}
