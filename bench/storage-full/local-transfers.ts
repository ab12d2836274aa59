import { execFile } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Row, startServer } from '../harness.ts'
import { startNginx } from '../servers/nginx.ts'
import { curlSeconds, download, race, remove, upload, withService, writeSong } from './service.ts'

const run = promisify(execFile)
const MEGABYTES = Number(process.env.BENCH_MEGABYTES ?? 1024)

/** One large file through a folder, against the quickest that the machine has. */
export async function localTransfers(folder: string): Promise<Row[]> {
  const data = join(folder, 'local')
  const source = join(folder, 'large.mp3')
  await writeSong(source, MEGABYTES)
  return withService(data, async (service) => {
    const { id } = await upload(service, source, 'audio/mpeg')
    const files = join(data, 'storage-full/files')
    const [path = ''] = readdirSync(files, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.mp3'),
    )
    const nginx = await startNginx(files)
    const fastifyStatic = await startServer('bench/servers/fastify-static.ts', 'STATIC_PORT', {
      STATIC_ROOT: files,
    })
    const size = { megabytes: MEGABYTES }
    const ours = () => download(service, id)
    try {
      return [
        ...(nginx
          ? [
              await race(
                `download ${MEGABYTES} MiB from LOCAL against nginx with sendfile`,
                ours,
                () => curlSeconds(`${nginx.url}/${path}`),
                { ...size, bar: 0.55 },
              ),
            ]
          : []),
        await race(
          `download ${MEGABYTES} MiB from LOCAL against @fastify/static`,
          ours,
          () => curlSeconds(`${fastifyStatic.url}/${path}`),
          { ...size, bar: 1.5 },
        ),
        await race(
          `upload ${MEGABYTES} MiB to LOCAL against dd with fsync`,
          async () => {
            const stored = await upload(service, source, 'audio/mpeg')
            await remove(service, stored.id)
            return stored.seconds
          },
          () => copyDurably(source, join(folder, 'copy')),
          { ...size, bar: 0.8 },
        ),
      ]
    } finally {
      await nginx?.stop()
      await fastifyStatic.stop()
    }
  })
}

async function copyDurably(from: string, to: string): Promise<number> {
  const started = performance.now()
  await run('dd', [`if=${from}`, `of=${to}`, 'bs=1M', 'conv=fsync', 'status=none'])
  const seconds = (performance.now() - started) / 1000
  rmSync(to)
  return seconds
}
