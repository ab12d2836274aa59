import { join } from 'node:path'
import { type BenchServer, type Row, startServer } from '../harness.ts'
import { startNginx } from '../servers/nginx.ts'
import { copyDurably, curlDownload, curlUpload, writeLargeFile } from '../storage/large-file.ts'
import { race } from '../storage/race.ts'
import { HEADERS, KEY_HEADER, PNG_START, withService } from './service.ts'

const MEGABYTES = Number(process.env.BENCH_MEGABYTES ?? 1024)
const NAME = `storage-key: download ${MEGABYTES} MiB against`

/** One large file, against the quickest that the machine has. */
export async function largeFiles(folder: string): Promise<Row[]> {
  const root = join(folder, 'large')
  return withService(root, async (server) => {
    const file = join(root, 'large.png')
    await writeLargeFile(file, MEGABYTES, PNG_START)
    return [
      ...(await downloads(server, root)),
      await race(
        `storage-key: upload ${MEGABYTES} MiB against dd with fsync`,
        () => upload(server, file),
        () => copyDurably(file, join(folder, 'copy')),
        { megabytes: MEGABYTES, bar: 0.8 },
      ),
    ]
  })
}

async function downloads(server: BenchServer, root: string): Promise<Row[]> {
  const ours = () => curlDownload(`${server.url}/file/large.png`, KEY_HEADER)
  const against = async (other: { url: string; stop(): Promise<void> }, who: string, bar: number) =>
    race(`${NAME} ${who}`, ours, () => curlDownload(`${other.url}/large.png`, KEY_HEADER), {
      megabytes: MEGABYTES,
      bar,
    }).finally(() => other.stop())
  const nginx = await startNginx(root)
  const rows = nginx ? [await against(nginx, 'nginx with sendfile', 0.55)] : []
  const fastifyStatic = await startServer('bench/servers/fastify-static.ts', 'STATIC_PORT', {
    STATIC_ROOT: root,
  })
  return [...rows, await against(fastifyStatic, '@fastify/static', 1.5)]
}

async function upload(server: BenchServer, path: string): Promise<number> {
  const { answer, seconds } = await curlUpload(
    `${server.url}/file`,
    KEY_HEADER,
    `${path};type=image/png`,
  )
  await fetch(`${server.url}/file/${answer}`, { method: 'DELETE', headers: HEADERS })
  return seconds
}
