import { signal } from '@preact/signals'
import { baseUrl } from './base-url.ts'

type Transmission = {
  method: string
  path: string
  headers: Record<string, string>
  body?: string | FormData | Blob
  signal?: AbortSignal
  onProgress?(share: number): void
}

export type Received = { status: number; headers: Record<string, string>; content: Blob }

/** Sends over XMLHttpRequest, because fetch cannot report upload progress. Status 0 means no answer. */
export function transmit(transmission: Transmission): Promise<Received> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.open(transmission.method, baseUrl + transmission.path)
    request.responseType = 'blob'
    for (const [name, value] of Object.entries(transmission.headers))
      request.setRequestHeader(name, sendable(value))
    request.upload.onprogress = ({ loaded, total }) => transmission.onProgress?.(loaded / total)
    request.onreadystatechange = () => noteTime(request)
    request.onloadend = () => resolve(received(request))
    transmission.signal?.addEventListener('abort', () => request.abort())
    if (transmission.signal?.aborted) resolve(received(request))
    else request.send(transmission.body ?? null)
  })
}

/** How far the clock of the service is ahead of the browser's. */
export const serverAheadMs = signal(0)
const TOLERATED_MS = 5_000

/**
 * Once the head of the reply is there: a long body would make the date look old. So would a cache. A Date
 * header has whole seconds, so small differences mean nothing.
 */
function noteTime(request: XMLHttpRequest): void {
  if (request.readyState !== XMLHttpRequest.HEADERS_RECEIVED) return
  if (request.getResponseHeader('cache-control') !== 'no-store') return
  const difference = Date.parse(request.getResponseHeader('date') ?? '') - Date.now()
  if (Number.isNaN(difference)) return
  serverAheadMs.value = Math.abs(difference) < TOLERATED_MS ? 0 : difference
}

/** A header carries only the first 256 characters; others are encoded, so that the service gets to refuse them. */
function sendable(value: string): string {
  return value.toWellFormed().replace(/[^\t\x20-\x7e\x80-\xff]/gu, encodeURIComponent)
}

function received(request: XMLHttpRequest): Received {
  const lines = request.getAllResponseHeaders().trim().split('\r\n').filter(Boolean)
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  return {
    status: request.status,
    headers: Object.fromEntries(headers),
    content: (request.response as Blob | null) ?? new Blob(),
  }
}
