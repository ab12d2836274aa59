import { startNginx } from '../baselines/nginx.ts'
import type { Row } from '../harness/row.ts'
import { startServer } from '../harness/server-process.ts'
import { MEGABYTES } from '../harness/settings.ts'
import { race } from './race.ts'
import { curlDownload } from './transfers.ts'

type Download = {
  /** Seconds of one download through the service. */
  ours(): Promise<number>
  /** The folder that the baselines serve, and the path of the same file in it. */
  root: string
  path: string
}

/** One large download, against two other ways to serve a folder. */
export async function downloadRows(what: string, { ours, root, path }: Download): Promise<Row[]> {
  const against = async (
    name: string,
    bar: number,
    other: { url: string; stop(): Promise<void> },
  ) => {
    const baseline = () => curlDownload(`${other.url}/${path}`)
    const size = { megabytes: MEGABYTES, bar }
    return race(`${what}, against ${name}`, ours, baseline, size).finally(() => other.stop())
  }
  const env = { STATIC_ROOT: root }
  const fastify = () => startServer('bench/baselines/fastify-static.ts', 'STATIC_PORT', env)
  return [
    await against('nginx with sendfile', 0.55, await startNginx(root)),
    await against('@fastify/static', 1.5, await fastify()),
  ]
}
