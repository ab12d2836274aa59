import { type BenchServer, startServer } from '../../harness/server-process.ts'
import { multipartUpload } from '../multipart.ts'
import { curlDownload, curlUpload } from '../transfers.ts'

/** The first bytes of an MP3, because such files are never decoded. */
export const SONG_START = Buffer.from('ID3')

export type Service = BenchServer & { token: string; admin: string }

/** Runs the service on its own data folder, with a user and an administrator signed in. */
export async function withService<T>(
  folder: string,
  work: (service: Service) => Promise<T>,
  env: Record<string, string> = {},
): Promise<T> {
  const server = await startServer('services/storage-full/src/main.ts', 'STORAGE_FULL_PORT', {
    SUITE_DATA: folder,
    STORAGE_FULL_MAX_FILE_SIZE: '8GB',
    ...env,
  })
  try {
    const [token, admin] = await Promise.all([logIn(server, 'user'), logIn(server, 'admin')])
    return await work({ ...server, token, admin })
  } finally {
    await server.stop()
  }
}

async function logIn({ url }: BenchServer, username: string): Promise<string> {
  const body = JSON.stringify({ username, password: 'password123123' })
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${url}/api/auth/login`, { method: 'POST', headers, body })
  return ((await reply.json()) as { accessToken: string }).accessToken
}

export function authorized({ token }: Service): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}

/** The duration of one upload in seconds, and the id of the file. */
export async function upload(service: Service, path: string, type: string) {
  const bearer = `Authorization: Bearer ${service.token}`
  const { answer, seconds } = await curlUpload(
    `${service.url}/file`,
    bearer,
    `${path};type=${type}`,
  )
  return { id: JSON.parse(answer).id as number, seconds }
}

export async function download(service: Service, id: number): Promise<number> {
  return curlDownload(
    `${service.url}/file/download/${id}`,
    `Authorization: Bearer ${service.token}`,
  )
}

export async function remove(service: Service, id: number): Promise<void> {
  await fetch(`${service.url}/file/${id}`, { method: 'DELETE', headers: authorized(service) })
}

export function songUpload(service: Service, bytes: number) {
  const headers = authorized(service)
  return multipartUpload(
    { filename: 'a.mp3', type: 'audio/mpeg', start: SONG_START, headers },
    bytes,
  )
}
