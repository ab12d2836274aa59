import { ConnectionError, TimeoutError } from './errors.ts'
import type { Call } from './request.ts'

const MAX_TRIES_WITHOUT_PROGRESS = 4
const STALLED_MS = 30_000

/** How `request` must send: the caller reads the body as it arrives, and may have the file already. */
export const DOWNLOAD: Call = { stream: true, accept: [304] }

/**
 * Downloads a file. When the connection breaks or stalls, the rest is requested with a range, but
 * only if the file has not changed; the reader of the body does not notice.
 */
export async function download(
  request: (headers?: Record<string, string>) => Promise<Response>,
): Promise<Response> {
  const first = await request()
  const etag = first.headers.get('etag')
  const extent = extentOf(first)
  if (!first.body || !etag || etag.startsWith('W/') || !extent) return first

  const rest = async (from: number) => {
    const range = `bytes=${from}-${extent.end}`
    const next = await request({ range, 'if-range': etag })
    if (next.status === 206 && extentOf(next)?.start === from && next.body) return next.body
    await next.body?.cancel()
    throw new Error('The file has changed since the download began')
  }
  const { status, statusText } = first
  const body = resuming(first.body, rest, extent)
  return new Response(body, { status, statusText, headers: first.headers })
}

type Chunk = Uint8Array<ArrayBuffer>
type Bytes = ReadableStream<Chunk>

function resuming(
  first: Bytes,
  rest: (from: number) => Promise<Bytes>,
  { start, end }: { start: number; end: number },
): Bytes {
  let reader: ReadableStreamDefaultReader<Chunk> | undefined = first.getReader()
  let next = start
  let tries = 0
  let isCancelled = false
  const pull = async (controller: ReadableStreamDefaultController<Chunk>): Promise<void> => {
    if (next > end) return controller.close()
    try {
      reader ??= (await rest(next)).getReader()
      const { value } = await withTimeout(reader.read())
      if (!value) throw new Error('The connection ended early')
      next += value.byteLength
      tries = 0
      controller.enqueue(value)
    } catch (error) {
      const broken = reader
      reader = undefined
      broken?.cancel().catch(() => {})
      // Without a reader it was the request for the rest that failed, after its own retries. A stream
      // that was cancelled ends its reads early, takes no more bytes, and ignores the error.
      if (!broken || isCancelled) throw error
      tries += 1
      if (tries >= MAX_TRIES_WITHOUT_PROGRESS) throw new ConnectionError(error)
      return pull(controller)
    }
  }
  const cancel = (reason: unknown) => {
    isCancelled = true
    return reader?.cancel(reason)
  }
  return new ReadableStream({ pull, cancel })
}

function withTimeout<T>(reading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const stalled = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError('The download stalled')), STALLED_MS)
  })
  return Promise.race([reading, stalled]).finally(() => clearTimeout(timer))
}

/** The positions of the first and last byte in a reply; `undefined` if it does not say. */
function extentOf({ status, headers }: Response): { start: number; end: number } | undefined {
  const range = /^bytes (\d+)-(\d+)\//.exec(headers.get('content-range') ?? '')
  if (status === 206 && range) return { start: Number(range[1]), end: Number(range[2]) }
  const length = headers.get('content-length')
  if (status !== 200 || length === null || headers.has('content-encoding')) return undefined
  return { start: 0, end: Number(length) - 1 }
}
