import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from '../http/framework.ts'
import { discardAfterAnswer, discardBeforeClosing } from '../http/hooks/bodies.ts'
import { failPoint } from '../runtime/fail-point.ts'
import type { FileBytes } from './disk.ts'
import { MultipartReader, multipartBoundary, type PartHeader, readPartHeader } from './multipart.ts'
import { uploadMalformed, uploadTooLarge } from './problems.ts'
import { Spool } from './spool/spool.ts'
import { DEFAULT_MINIMUM_SPEED, type MinimumSpeed, readBody } from './upload-body.ts'

export type UploadLimits = {
  /** Where a temporary file goes: on the file system of the final one. */
  folder: string
  maxFileBytes: number
  maxRequestBytes: number
  sha256?: boolean
  minimumSpeed?: MinimumSpeed
}

/**
 * One received file, complete but not yet under its name. Dispose of it (`await using`): unless it
 * was published, nothing of it stays.
 */
export type Upload = AsyncDisposable &
  Pick<Spool, 'sizeBytes' | 'sha256' | 'read' | 'publish'> & {
    filename: string
    /** As the client wrote it, parameters included; empty when it wrote none. */
    declaredType: string
    /** To be looked at until the upload is published or disposed of. */
    bytes: FileBytes
  }

/** Receives the one part `file` of a multipart request. */
export async function receiveUpload(
  request: IncomingMessage,
  response: ServerResponse,
  limits: UploadLimits,
): Promise<Upload> {
  const reader = new MultipartReader(multipartBoundary(request.headers['content-type']))
  if (Number(request.headers['content-length'] ?? 0) > limits.maxRequestBytes)
    throw uploadTooLarge()
  const { folder, sha256 = false } = limits
  const spool = new Spool(folder, { sha256 })
  try {
    if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue()
    const part = await receivePart(request, reader, spool, limits)
    await spool.finish()
    failPoint('upload:received')
    return await uploadOf(spool, part)
  } catch (error) {
    await spool[Symbol.asyncDispose]()
    throw error
  }
}

type FilePart = PartHeader & { filename: string }

async function receivePart(
  request: IncomingMessage,
  reader: MultipartReader,
  spool: Spool,
  { maxFileBytes, maxRequestBytes, minimumSpeed = DEFAULT_MINIMUM_SPEED }: UploadLimits,
): Promise<FilePart> {
  let part: FilePart | undefined
  await readBody(request, { maxBytes: maxRequestBytes, minimumSpeed }, (chunk) => {
    let writing: Promise<unknown> | undefined
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

async function uploadOf(spool: Spool, part: FilePart): Promise<Upload> {
  return {
    sizeBytes: spool.sizeBytes,
    filename: part.filename,
    declaredType: part.declaredType ?? '',
    bytes: await spool.bytes(),
    sha256: spool.sha256,
    read: () => spool.read(),
    publish: (target) => spool.publish(target),
    [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
  }
}

/**
 * Prepares a server for `receiveUpload`: bodies of these types are left to the handler unread,
 * a client that asks first (`Expect: 100-continue`) is told to send only once its request is
 * acceptable, and one refused half-way gets to read the answer.
 */
export function acceptUploads(server: Server, types: string | string[] | RegExp): void {
  server.addContentTypeParser(types, (_request, _payload, done) => done(null))
  server.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Other bodies are small, and their routes know nothing of this.
    if (!/^multipart\//i.test(request.headers['content-type'] ?? '')) response.writeContinue()
    server.server.emit('request', request, response)
  })
  server.addHook('onSend', (request, reply) => discardBeforeClosing(request.raw, reply.raw))
  server.addHook('onResponse', (request, _reply, done) => {
    discardAfterAnswer(request.raw)
    done()
  })
}
