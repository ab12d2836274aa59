import type { Call } from './request.ts'

export type UploadOptions = {
  /** Called with the bytes of the file sent so far. */
  onProgress?: ((progress: { loaded: number; total: number }) => void) | undefined
  /** Cancels the upload. */
  signal?: AbortSignal | undefined
}

/**
 * A form with one file. It is built here instead of with FormData, so that progress counts the bytes of
 * the file in every runtime. A Blob on disk (`openAsBlob` in Node) is never read into memory as a whole.
 */
export function uploadOf(file: Blob, filename: string, options: UploadOptions = {}): Call {
  const boundary = `plinth-${crypto.randomUUID()}`
  const head = new Blob([
    `--${boundary}\r\n`,
    `content-disposition: form-data; name="file"; filename="${escaped(filename)}"\r\n`,
    `content-type: ${file.type || 'application/octet-stream'}\r\n\r\n`,
  ])
  const total = file.size
  return {
    body: new Blob([head, file, `\r\n--${boundary}--\r\n`]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    signal: options.signal,
    onSent: (bytes) => {
      const loaded = Math.min(Math.max(bytes - head.size, 0), total)
      options.onProgress?.({ loaded, total })
    },
  }
}

/** Escapes like FormData: HTML, "multipart/form-data encoding algorithm". */
function escaped(filename: string): string {
  return filename.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')
}
