import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { promisify } from 'node:util'
import { type BenchServer, type Row, startServer } from '../harness.ts'

const run = promisify(execFile)
const TURNS = 5

export type Service = BenchServer & { token: string; admin: string }

/** The service on its own data folder, with somebody signed in. */
export async function withService<T>(
  folder: string,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const server = await startServer('services/storage-full/src/main.ts', 'STORAGE_FULL_PORT', {
    SUITE_DATA: folder,
    STORAGE_FULL_MAX_FILE_SIZE: '8GB',
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

/** Seconds for one upload, and the id it got. */
export async function upload(service: Service, path: string, type: string) {
  const part = `file=@${path};type=${type}`
  const bearer = `Authorization: Bearer ${service.token}`
  const args = ['-sf', '-w', '\n%{time_total}', '-H', bearer, '-H', 'Expect:', '-F', part]
  const { stdout } = await run('curl', [...args, `${service.url}/file`])
  const [body = '', seconds] = stdout.split('\n')
  return { id: JSON.parse(body).id as number, seconds: Number(seconds) }
}

export async function download(service: Service, id: number): Promise<number> {
  return curlSeconds(`${service.url}/file/download/${id}`, service.token)
}

export async function curlSeconds(url: string, token = ''): Promise<number> {
  const bearer = `Authorization: Bearer ${token}`
  const args = ['-sf', '-o', '/dev/null', '-w', '%{time_total}', '-H', bearer, url]
  return Number((await run('curl', args)).stdout)
}

export async function remove(service: Service, id: number): Promise<void> {
  const headers = { authorization: `Bearer ${service.token}` }
  await fetch(`${service.url}/file/${id}`, { method: 'DELETE', headers })
}

type Race = { megabytes: number; bar: number }

/** Ours and theirs take turns, each telling its seconds; the middle ratio counts. */
export async function race(
  name: string,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
  { megabytes, bar }: Race,
): Promise<Row> {
  const turns: { own: number; other: number; ratio: number }[] = []
  await ours()
  await theirs()
  while (turns.length < TURNS) {
    const [own, other] = [await ours(), await theirs()]
    turns.push({ own, other, ratio: other / own })
  }
  const middle = turns.sort((a, b) => a.ratio - b.ratio)[TURNS >> 1]
  const { own = 1, other = 1, ratio = 0 } = middle ?? {}
  const speed = (seconds: number) => `${Math.round(megabytes / seconds)} MiB/s`
  const figure = `${speed(own)} to ${speed(other)}`
  return { name: `storage-full: ${name}`, figure, ratio, bar: `≥ ${bar}`, met: ratio >= bar }
}

/** A file with the signature of a song: no decoder and no scan, only bytes. */
export async function writeSong(path: string, megabytes: number): Promise<void> {
  const megabyte = Buffer.alloc(2 ** 20, 'plinth ')
  const stream = createWriteStream(path, { flush: true })
  stream.write('ID3')
  for (let count = 0; count < megabytes; count += 1)
    if (!stream.write(megabyte)) await new Promise((resolve) => stream.once('drain', resolve))
  stream.end()
  await finished(stream)
}
