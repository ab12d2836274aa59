import { type BenchServer, startServer } from '../../harness/server-process.ts'
import { multipartUpload } from '../multipart.ts'

const KEY = 'storage-local-dev-key'
export const KEY_HEADER = `X-API-KEY: ${KEY}`
export const HEADERS = { 'x-api-key': KEY }
export const PNG_START = Buffer.from('89504e470d0a1a0a', 'hex')

/** Runs the service on one folder. */
export async function withService<T>(
  root: string,
  work: (server: BenchServer) => Promise<T>,
): Promise<T> {
  const server = await startServer('services/storage-key/src/main.ts', 'STORAGE_KEY_PORT', {
    STORAGE_KEY_ROOT: root,
    STORAGE_KEY_MAX_FILE_SIZE: '8GB',
    STORAGE_KEY_MAX_REQUEST_SIZE: '8GB',
  })
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

export function pngUpload(bytes: number) {
  const file = { filename: 'a.png', type: 'image/png', start: PNG_START, headers: HEADERS }
  return multipartUpload(file, bytes)
}
