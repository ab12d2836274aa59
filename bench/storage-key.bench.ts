import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createWriteStream, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type BenchRequest, type BenchServer, drive, type Row, startServer } from './harness.ts'
import { startNginx } from './servers/nginx.ts'

const run = promisify(execFile)
const MEGABYTES = Number(process.env.BENCH_MEGABYTES ?? 1024)
const FILES = Number(process.env.BENCH_FILES ?? 100_000)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const TURNS = 5
const CLIENTS = 50
const KEY = 'storage-local-dev-key'
const HEADERS = { 'x-api-key': KEY }
const KEEP_ALIVE = new Agent({ keepAlive: true })
const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')

export default async function bench(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-storage-bench-'))
  try {
    return [
      ...(await largeFiles(folder)),
      await smallUploads(folder),
      ...(await listings(folder)),
      ...(await memory(folder)),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function withService<T>(
  root: string,
  work: (server: BenchServer) => Promise<T>,
  env: Record<string, string> = {},
): Promise<T> {
  const server = await startServer('services/storage-key/src/main.ts', 'STORAGE_KEY_PORT', {
    STORAGE_KEY_ROOT: root,
    STORAGE_KEY_MAX_FILE_SIZE: '8GB',
    STORAGE_KEY_MAX_REQUEST_SIZE: '8GB',
    ...env,
  })
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

async function largeFiles(folder: string): Promise<Row[]> {
  const root = join(folder, 'large')
  return withService(root, async (server) => {
    await writeLargeFile(join(root, 'large.png'))
    const others = [
      await startNginx(root),
      await startServer('bench/servers/fastify-static.ts', 'STATIC_PORT', { STATIC_ROOT: root }),
    ]
    const [nginx, fastifyStatic] = others
    const ours = () => download(`${server.url}/file/large.png`)
    const theirs = (other: { url: string }) => () => download(`${other.url}/large.png`)
    const label = `${MEGABYTES} MiB`
    try {
      return [
        ...(nginx
          ? [await race(`download ${label} against nginx with sendfile`, ours, theirs(nginx), 0.55)]
          : []),
        ...(fastifyStatic
          ? [
              await race(
                `download ${label} against @fastify/static`,
                ours,
                theirs(fastifyStatic),
                1.5,
              ),
            ]
          : []),
        await race(
          `upload ${label} against dd with fsync`,
          () => uploadLarge(server, join(root, 'large.png')),
          () => copyDurably(join(root, 'large.png'), join(folder, 'copy')),
          0.8,
        ),
      ]
    } finally {
      for (const other of others) await other?.stop()
    }
  })
}

/** Ours and theirs take turns; the middle ratio of their speeds counts. */
async function race(
  name: string,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
  bar: number,
): Promise<Row> {
  const turns: { own: number; other: number }[] = []
  await ours()
  while (turns.length < TURNS) turns.push({ own: await ours(), other: await theirs() })
  const middle = turns
    .map((turn) => ({ ...turn, ratio: turn.other / turn.own }))
    .sort((a, b) => a.ratio - b.ratio)[TURNS >> 1]
  const { own = 1, other = 1, ratio = 0 } = middle ?? {}
  const speed = (seconds: number) => `${Math.round(MEGABYTES / seconds)} MiB/s`
  const figure = `${speed(own)} to ${speed(other)}`
  return { name: `storage-key: ${name}`, figure, ratio, bar: `≥ ${bar}`, met: ratio >= bar }
}

async function download(url: string): Promise<number> {
  const args = ['-sf', '-o', '/dev/null', '-w', '%{time_total}', '-H', `X-API-KEY: ${KEY}`, url]
  return Number((await run('curl', args)).stdout)
}

async function uploadLarge(server: BenchServer, path: string): Promise<number> {
  const part = `file=@${path};type=image/png;filename=large.png`
  const key = `X-API-KEY: ${KEY}`
  const args = ['-sf', '-w', '\n%{time_total}', '-H', key, '-H', 'Expect:', '-F', part]
  const { stdout } = await run('curl', [...args, `${server.url}/file`])
  const [name, seconds] = stdout.split('\n')
  await fetch(`${server.url}/file/${name}`, { method: 'DELETE', headers: HEADERS })
  return Number(seconds)
}

async function copyDurably(from: string, to: string): Promise<number> {
  const started = performance.now()
  await run('dd', [`if=${from}`, `of=${to}`, 'bs=1M', 'conv=fsync', 'status=none'])
  const seconds = (performance.now() - started) / 1000
  rmSync(to)
  return seconds
}

async function writeLargeFile(path: string): Promise<void> {
  const megabyte = Buffer.alloc(2 ** 20, 'plinth')
  const stream = createWriteStream(path, { flush: true })
  stream.write(SIGNATURE)
  for (let count = 0; count < MEGABYTES; count += 1)
    if (!stream.write(count === 0 ? megabyte.subarray(8) : megabyte))
      await new Promise((resolve) => stream.once('drain', resolve))
  await new Promise<void>((resolve) => stream.end(resolve))
}

const multipart = (bytes: number) => ({
  method: 'POST',
  path: '/file',
  headers: { ...HEADERS, 'content-type': 'multipart/form-data; boundary=b' },
  body: Buffer.concat([
    Buffer.from(
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n' +
        'Content-Type: image/png\r\n\r\n',
    ),
    SIGNATURE,
    Buffer.alloc(bytes - SIGNATURE.length, 1),
    Buffer.from('\r\n--b--\r\n'),
  ]),
})

async function smallUploads(folder: string): Promise<Row> {
  const bytes = 10 * 1024
  const [root, bareFolder] = [join(folder, 'small'), mkdtempSync(join(folder, 'bare-'))]
  const work = { folder: bareFolder, bytes, writers: CLIENTS, seconds: SECONDS }
  const bareScript = join(import.meta.dirname, 'servers/bare-writes.ts')
  return withService(root, async (server) => {
    const turns: { own: number; bare: number; ratio: number }[] = []
    while (turns.length < 3) {
      const load = await drive(server, multipart(bytes), { connections: CLIENTS })
      const bare = await run(process.execPath, [bareScript, JSON.stringify(work)])
      const own = load.requestsPerSecond
      turns.push({ own, bare: Number(bare.stdout), ratio: own / Number(bare.stdout) })
      if (load.unexpected > 0) throw new Error(`An upload was answered ${load.sample}.`)
    }
    const middle = turns.sort((a, b) => a.ratio - b.ratio)[1]
    const { own = 0, bare = 1, ratio = 0 } = middle ?? {}
    return {
      name: 'storage-key: durable 10 KB uploads against bare write, fsync, rename, fsync',
      requestsPerSecond: own,
      barePerSecond: bare,
      ratio,
      bar: '≥ 0.6',
      met: ratio >= 0.6,
    }
  })
}

function plantFiles(root: string): void {
  for (let count = readdirSync(root).length; count <= FILES; count += 1)
    writeFileSync(join(root, `${randomUUID()}.png`), '')
}

async function listings(folder: string): Promise<Row[]> {
  const root = join(folder, 'many')
  return withService(root, async (server) => {
    plantFiles(root)
    await timeOf(() => list(server))
    const changed: number[] = []
    const repeated: number[] = []
    while (changed.length < 2 * TURNS) {
      await upload(server)
      changed.push(await timeOf(() => list(server)))
      repeated.push(await timeOf(() => list(server)))
    }
    const row = (what: string, times: number[], barMs: number): Row => {
      const ms = times.sort((a, b) => a - b)[times.length >> 1] ?? 0
      const name = `storage-key: list ${FILES.toLocaleString('en')} files ${what}`
      return { name, figure: `${ms.toFixed(1)} ms`, bar: `< ${barMs} ms`, met: ms < barMs }
    }
    return [row('after a change', changed, 60), row('again', repeated, 10)]
  })
}

async function upload(server: BenchServer): Promise<void> {
  const { method, path, headers, body } = multipart(1024)
  await (await fetch(server.url + path, { method, headers, body })).text()
}

/** Reads and drops the reply, so that the client costs little. */
function list(server: BenchServer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  get(`${server.url}/file/list`, { headers: HEADERS, agent: KEEP_ALIVE }, (reply) => {
    reply.resume().on('end', resolve)
  }).on('error', reject)
  return promise
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/** V8 lets 64 MB of received bytes pile up before it frees them, unless it is told to be quicker. */
const SMALL_HEAP = { NODE_OPTIONS: '--max-semi-space-size=1' }

async function memory(folder: string): Promise<Row[]> {
  const small = multipart(10 * 1024)
  return [
    await growth('downloads', join(folder, 'large'), { path: '/file/large.png', headers: HEADERS }),
    await growth('10 KB uploads', join(folder, 'small'), small),
    await growth('lists', join(folder, 'many'), { path: '/file/list', headers: HEADERS }),
    await growth(
      '10 MB uploads (small semi-space)',
      join(folder, 'small'),
      multipart(10 * 2 ** 20 - 1000),
      SMALL_HEAP,
    ),
  ]
}

/** How far the peak is above idle, idle being after a little work and before the load. */
async function growth(
  what: string,
  root: string,
  request: BenchRequest,
  env: Record<string, string> = {},
): Promise<Row> {
  const measured = async (server: BenchServer): Promise<Row> => {
    const warmUp = { path: '/file/missing', headers: HEADERS }
    await drive(server, { ...warmUp, method: 'DELETE' }, { connections: CLIENTS, seconds: 1 })
    const idle = server.memoryMb() ?? 0
    await drive(server, request, { connections: CLIENTS })
    const grown = (server.peakMemoryMb() ?? 0) - idle
    return {
      name: `storage-key: memory of ${CLIENTS} parallel ${what} over idle`,
      figure: `${Math.round(grown)} MB`,
      peakMemoryMb: server.peakMemoryMb(),
      bar: '≤ 60 MB',
      met: grown <= 60,
    }
  }
  return withService(root, measured, env)
}
