import type { BenchRequest } from '../harness/compare.ts'

type File = { filename: string; type: string; start: Buffer; headers: Record<string, string> }

/** An upload of this many bytes in one request. */
export function multipartUpload({ filename, type, start, headers }: File, bytes: number) {
  return {
    method: 'POST',
    path: '/file',
    headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' },
    body: Buffer.concat([
      Buffer.from(
        `--b\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n` +
          `Content-Type: ${type}\r\n\r\n`,
      ),
      start,
      Buffer.alloc(bytes - start.length, 1),
      Buffer.from('\r\n--b--\r\n'),
    ]),
  } satisfies BenchRequest
}
