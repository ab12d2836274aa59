import type { IncomingMessage, ServerResponse } from 'node:http'
import { failPoint } from '../fail-point.ts'
import { publishFile } from './durable-write.ts'
import type { FileBytes } from './file-bytes.ts'
import { MultipartReader } from './multipart.ts'
import { DEFAULT_PACE, type Pace } from './pace.ts'
import { multipartBoundary, type PartHeader, readPartHeader } from './part-header.ts'
import { uploadMalformed, uploadTooLarge } from './problems.ts'
import { readBody } from './request-body.ts'
import { openSpool, type Spool } from './spool.ts'

export type UploadLimits = {
  /** Where the temporary file goes: on the file system of the final one. */
  folder: string
  maxFileBytes: number
  maxRequestBytes: number
  sha256?: boolean
  pace?: Pace
}

/**
 * One received file, complete but under a temporary name. Dispose of it (`await using`): unless it
 * was published, nothing of it stays.
 */
export type Upload = AsyncDisposable & {
  path: string
  sizeBytes: number
  filename: string
  /** As the client wrote it, parameters included; empty when it wrote none. */
  declaredType: string
  /** To be looked at until the upload is published or disposed of. */
  bytes: FileBytes
  /** Lower-case hex, when it was asked for. */
  sha256: string | undefined
  /** Makes the content durable under its final name: one that nothing else can have. */
  publish(target: string): Promise<void>
}

/** Receives the one part `file` of a multipart request into a temporary file. */
export async function receiveUpload(
  request: IncomingMessage,
  response: ServerResponse,
  limits: UploadLimits,
): Promise<Upload> {
  const reader = new MultipartReader(multipartBoundary(request.headers['content-type']))
  if (Number(request.headers['content-length'] ?? 0) > limits.maxRequestBytes)
    throw uploadTooLarge()
  const spool = await openSpool(limits.folder, { sha256: limits.sha256 ?? false })
  try {
    failPoint('upload:opened')
    if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue()
    const part = await receivePart(request, reader, spool, limits)
    await spool.finish()
    failPoint('upload:received')
    return uploadOf(spool, part)
  } catch (error) {
    await spool.discard()
    throw error
  }
}

type FilePart = PartHeader & { filename: string }

async function receivePart(
  request: IncomingMessage,
  reader: MultipartReader,
  spool: Spool,
  { maxFileBytes, maxRequestBytes, pace = DEFAULT_PACE }: UploadLimits,
): Promise<FilePart> {
  let part: FilePart | undefined
  await readBody(request, { maxBytes: maxRequestBytes, pace }, (chunk) => {
    let writing: Promise<void> | undefined
    for (const event of reader.read(chunk)) {
      if (event.kind === 'header') part = filePart(readPartHeader(event.text), part)
      else if (spool.sizeBytes + event.bytes.length > maxFileBytes) throw uploadTooLarge()
      else writing = spool.write(event.bytes) ?? writing
    }
    return writing
  })
  if (!reader.finished) throw uploadMalformed({ detail: 'The multipart body is incomplete.' })
  if (!part) throw uploadMalformed()
  return part
}

/** The only part there may be: `file`, with a name to take the extension from. */
function filePart(header: PartHeader, before: FilePart | undefined): FilePart {
  const { name, filename } = header
  if (before) throw uploadMalformed({ detail: 'Send exactly one part, named "file".' })
  if (name !== 'file') throw uploadMalformed()
  if (filename === undefined || filename.trim() === '')
    throw uploadMalformed({ detail: 'The part "file" has no file name.' })
  if (/\p{Cc}/u.test(filename))
    throw uploadMalformed({ detail: 'The file name has control characters.' })
  return { ...header, filename }
}

function uploadOf(spool: Spool, part: FilePart): Upload {
  let published = false
  return {
    path: spool.path,
    sizeBytes: spool.sizeBytes,
    filename: part.filename,
    declaredType: part.declaredType ?? '',
    bytes: spool.bytes(),
    sha256: spool.sha256(),
    publish: async (target) => {
      failPoint('upload:before-fsync')
      await spool.sync()
      failPoint('upload:after-fsync')
      await publishFile(spool.path, target)
      published = true
      failPoint('upload:published')
    },
    [Symbol.asyncDispose]: () => (published ? spool.close() : spool.discard()),
  }
}
