import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Row, startServer } from '../harness.ts'
import { startNginx } from '../servers/nginx.ts'
import { copyDurably, curlDownload, writeLargeFile } from '../storage/large-file.ts'
import { race } from '../storage/race.ts'
import { download, remove, type Service, SONG_START, upload, withService } from './service.ts'

const MEGABYTES = Number(process.env.BENCH_MEGABYTES ?? 1024)
const NAME = `storage-full: download ${MEGABYTES} MiB from LOCAL against`

/** One large file through a folder, against the quickest that the machine has. */
export async function localTransfers(folder: string): Promise<Row[]> {
  const source = join(folder, 'large.mp3')
  await writeLargeFile(source, MEGABYTES, SONG_START)
  const data = join(folder, 'local')
  return withService(data, async (service) => [
    ...(await downloads(service, source, join(data, 'storage-full/files'))),
    await race(
      `storage-full: upload ${MEGABYTES} MiB to LOCAL against dd with fsync`,
      async () => {
        const stored = await upload(service, source, 'audio/mpeg')
        await remove(service, stored.id)
        return stored.seconds
      },
      () => copyDurably(source, join(folder, 'copy')),
      { megabytes: MEGABYTES, bar: 0.8 },
    ),
  ])
}

async function downloads(service: Service, source: string, files: string): Promise<Row[]> {
  const { id } = await upload(service, source, 'audio/mpeg')
  const [path = ''] = readdirSync(files, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.mp3'),
  )
  const against = (other: { url: string; stop(): Promise<void> }, who: string, bar: number) =>
    race(
      `${NAME} ${who}`,
      () => download(service, id),
      () => curlDownload(`${other.url}/${path}`),
      { megabytes: MEGABYTES, bar },
    ).finally(() => other.stop())
  const nginx = await startNginx(files)
  const rows = nginx ? [await against(nginx, 'nginx with sendfile', 0.55)] : []
  const fastifyStatic = await startServer('bench/servers/fastify-static.ts', 'STATIC_PORT', {
    STATIC_ROOT: files,
  })
  return [...rows, await against(fastifyStatic, '@fastify/static', 1.5)]
}
