import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from '../http/framework.ts'
import { inviteBody } from '../http/hooks/bodies/expect.ts'
import { forgetUnreadableType } from '../http/hooks/bodies/json.ts'
import { drainAfterAnswer, drainBeforeClosing } from '../http/hooks/drain.ts'
import { Type } from '../http/schema.ts'
import { failPoint } from '../runtime/fail-point.ts'
import type { FileBytes } from './disk.ts'
import { MultipartReader, multipartBoundary, type PartHeader, readPartHeader } from './multipart.ts'
import { uploadMalformed, uploadTooLarge } from './problems.ts'
import { Spool } from './spool/spool.ts'
import { DEFAULT_MINIMUM_SPEED, type MinimumSpeed, readBody } from './upload-body.ts'

export type UploadLimits = {
  /** Where temporary files go: on the same file system as the final ones. */
  folder: string
  maxFileBytes: number
  maxRequestBytes: number
  sha256?: boolean
  crc32?: boolean
  minimumSpeed?: MinimumSpeed
}

/**
 * One received file, complete but not yet under its final name. Dispose of it (`await using`): unless
 * it was published, that removes it.
 */
export type Upload = AsyncDisposable &
  Pick<Spool, 'sizeBytes' | 'sha256' | 'crc32' | 'read' | 'publish'> & {
    filename: string
    /** As the client wrote it, parameters included; empty when it wrote none. */
    declaredType: string
    /** Readable until the upload is published or disposed of. */
    bytes: FileBytes
  }

/** The form that `receiveUpload` reads, for the API document. */
export const FileForm = {
  'multipart/form-data': Type.Object({
    file: Type.Unsafe<Blob>({
      type: 'string',
      contentMediaType: 'application/octet-stream',
      description: 'One file, with its name and media type',
    }),
  }),
}

const MAX_FIELDS = 20
const MAX_FIELD_BYTES = 8 * 1024

/** Receives the part `file` of a multipart form. Text fields beside it are ignored. */
export async function receiveUpload(
  request: IncomingMessage,
  response: ServerResponse,
  limits: UploadLimits,
): Promise<Upload> {
  const reader = new MultipartReader(multipartBoundary(request.headers['content-type']))
  if (Number(request.headers['content-length'] ?? 0) > limits.maxRequestBytes)
    throw uploadTooLarge()
  const { folder, sha256 = false, crc32 = false } = limits
  const spool = new Spool(folder, { sha256, crc32 })
  try {
    inviteBody(request, response)
    const part = await receiveForm(request, reader, spool, limits)
    await spool.finish()
    failPoint('upload:received')
    return await uploadOf(spool, part)
  } catch (error) {
    await spool[Symbol.asyncDispose]()
    throw error
  }
}

/**
 * Receives a body that is nothing but the bytes of a file, or of a part of one; the same limits of speed apply.
 * `take` gets them in order, and may return a promise to wait for.
 */
export async function receiveBytes(
  request: IncomingMessage,
  response: ServerResponse,
  { maxBytes, minimumSpeed = DEFAULT_MINIMUM_SPEED }: BytesLimits,
  take: (chunk: Buffer) => Promise<unknown> | undefined,
): Promise<void> {
  inviteBody(request, response)
  await readBody(request, { maxBytes, minimumSpeed }, take)
}

type BytesLimits = { maxBytes: number; minimumSpeed?: MinimumSpeed }

type FilePart = PartHeader & { filename: string }

async function receiveForm(
  request: IncomingMessage,
  reader: MultipartReader,
  spool: Spool,
  { maxFileBytes, maxRequestBytes, minimumSpeed = DEFAULT_MINIMUM_SPEED }: UploadLimits,
): Promise<FilePart> {
  const form = openForm(spool, maxFileBytes)
  await readBody(request, { maxBytes: maxRequestBytes, minimumSpeed }, (chunk) => {
    let writing: Promise<void> | undefined
    for (const event of reader.read(chunk)) {
      if (event.kind === 'header') form.beginPart(readPartHeader(event.text))
      else writing = form.write(event.bytes) ?? writing
    }
    return writing
  })
  if (!reader.finished) throw uploadMalformed({ detail: 'The multipart body is incomplete.' })
  return form.file()
}

/** Writes the one file to the spool and ignores text fields, which many forms have beside it. */
function openForm(spool: Spool, maxFileBytes: number) {
  let file: FilePart | undefined
  let isInFile = false
  let [fields, fieldBytes] = [0, 0]

  const requireFewFields = () => {
    if (fields > MAX_FIELDS || fieldBytes > MAX_FIELD_BYTES)
      throw uploadMalformed({
        detail:
          'The form has more than 20 text fields beside the file, or more than 8 KiB of them.',
      })
  }
  return {
    beginPart(part: PartHeader): void {
      isInFile = isFile(part)
      if (isInFile) file = requireFilePart(part, file)
      else fields += 1
      requireFewFields()
    },
    write(bytes: Buffer): Promise<void> | undefined {
      if (isInFile && spool.sizeBytes + bytes.length > maxFileBytes) throw uploadTooLarge()
      if (isInFile) return spool.write(bytes)
      fieldBytes += bytes.length
      requireFewFields()
    },
    file(): FilePart {
      if (!file) throw uploadMalformed()
      return file
    },
  }
}

/** A browser sends a file input without a file as a part with an empty file name. */
function isFile({ name, filename }: PartHeader): boolean {
  return name === 'file' || Boolean(filename)
}

function requireFilePart(header: PartHeader, before: FilePart | undefined): FilePart {
  const { name, filename = '' } = header
  if (filename.trim() === '') throw uploadMalformed({ detail: 'The part "file" has no file name.' })
  if (/\p{Cc}/u.test(filename))
    throw uploadMalformed({ detail: 'The file name has control characters.' })
  if (before)
    throw uploadMalformed({ detail: `The form has a second file, "${filename}". Send one.` })
  if (name !== 'file')
    throw uploadMalformed({
      detail: `The file "${filename}" is in the part "${name}". Send it in the part "file".`,
    })
  return { ...header, filename }
}

async function uploadOf(spool: Spool, part: FilePart): Promise<Upload> {
  return {
    sizeBytes: spool.sizeBytes,
    filename: part.filename,
    declaredType: part.declaredType ?? '',
    bytes: await spool.bytes(),
    sha256: spool.sha256,
    crc32: spool.crc32,
    read: () => spool.read(),
    publish: (target) => spool.publish(target),
    [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
  }
}

/**
 * Prepares a server, or a scope of one, for `receiveUpload`: bodies are left to the handler unread,
 * whatever their type, and a client refused half-way can still read the answer.
 */
export function acceptUploads(server: Server): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', (_request, _payload, done) => done(null))
  server.addHook('onRequest', forgetUnreadableType)
  server.addHook('onSend', (request, reply) => drainBeforeClosing(request.raw, reply.raw))
  server.addHook('onResponse', (request, _reply, done) => {
    drainAfterAnswer(request.raw)
    done()
  })
}
