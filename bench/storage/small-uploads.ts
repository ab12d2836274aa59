import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type BenchRequest, type BenchServer, drive, type Row } from '../harness.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const CLIENTS = 50
const BYTES = 10 * 1024
const BAR = 0.6
const TURNS = 5

type Load = { folder: string; request: (bytes: number) => BenchRequest; rows?: boolean }

/**
 * Small uploads of many clients, against the same system calls with nothing around them. Each side
 * keeps its folder: a file system gets slower with the files in one, and with those just removed.
 * With `rows` they have a row each as well, as in a service that keeps one; no bar is set for that.
 */
export async function smallUploads(
  name: string,
  server: BenchServer,
  { folder, request, rows = false }: Load,
): Promise<Row> {
  const bareFolder = join(folder, rows ? 'bare-with-rows' : 'bare')
  mkdirSync(bareFolder)
  await drive(server, request(BYTES), { connections: CLIENTS })
  await bareWritesPerSecond(bareFolder, rows)
  const turns: { own: number; bare: number; ratio: number }[] = []
  while (turns.length < TURNS) {
    const load = await drive(server, request(BYTES), { connections: CLIENTS })
    if (load.unexpected > 0) throw new Error(`An upload was answered ${load.sample}.`)
    const own = load.requestsPerSecond
    const bare = await bareWritesPerSecond(bareFolder, rows)
    turns.push({ own, bare, ratio: own / bare })
  }
  const middle = turns.sort((a, b) => a.ratio - b.ratio)[TURNS >> 1]
  const { own, bare, ratio = 0 } = middle ?? {}
  return {
    name: `${name}: durable 10 KB uploads against bare write, fsync, rename, fsync${rows ? ', row' : ''}`,
    requestsPerSecond: own,
    barePerSecond: bare,
    ratio,
    ...(!rows && { bar: `≥ ${BAR}`, met: ratio >= BAR }),
  }
}

async function bareWritesPerSecond(folder: string, rows: boolean): Promise<number> {
  const script = join(import.meta.dirname, '../servers/bare-writes.ts')
  const work = { folder, bytes: BYTES, writers: CLIENTS, seconds: SECONDS, rows }
  const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(work)])
  return Number(stdout)
}
