import { type CallOptions, withOptions } from './calls.ts'
import type { Call } from './request.ts'

export type UploadOptions = CallOptions & {
  /** Called with the bytes of the file sent so far. */
  onProgress?: ((progress: { loaded: number; total: number }) => void) | undefined
}

/**
 * A form with one file. It is built here instead of with FormData, so that progress counts the bytes of
 * the file in every runtime. A Blob on disk (`openAsBlob` in Node) is never read into memory as a whole.
 */
export function uploadOf(
  file: Blob,
  filename: string,
  { onProgress, ...options }: UploadOptions = {},
): Call {
  const boundary = `plinth-${crypto.randomUUID()}`
  const head = new Blob([
    `--${boundary}\r\n`,
    `content-disposition: form-data; name="file"; filename="${escaped(filename)}"\r\n`,
    `content-type: ${file.type || 'application/octet-stream'}\r\n\r\n`,
  ])
  const total = file.size
  const call: Call = {
    body: new Blob([head, file, `\r\n--${boundary}--\r\n`]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    onSent: (bytes) => {
      const loaded = Math.min(Math.max(bytes - head.size, 0), total)
      onProgress?.({ loaded, total })
    },
  }
  return withOptions(call, options)
}

/** Escapes like FormData: HTML, "multipart/form-data encoding algorithm". */
function escaped(filename: string): string {
  return filename.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')
}
