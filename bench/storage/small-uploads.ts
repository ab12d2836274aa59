import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type BenchRequest, drive } from '../harness/compare.ts'
import { atLeast, perSecond, type Row } from '../harness/row.ts'
import type { BenchServer } from '../harness/server-process.ts'
import { SECONDS } from '../harness/settings.ts'
import { middleTurn, quotient } from '../harness/turns.ts'

const CLIENTS = 50
const BYTES = 10 * 1024
const TURNS = 5
/** The code of the service is optimised after about ten thousand uploads. */
const WARMING_SECONDS = 10

type Load = {
  /** The folder for the bare writes. */
  folder: string
  upload(bytes: number): BenchRequest
  /** Whether a bare write also inserts a row. */
  rows: boolean
  bar: number
}

/**
 * Small uploads from many clients, against the bare system calls. Both sides keep their folder for
 * all turns, because a file system gets slower with the number of files in a folder, and for a while
 * after many were deleted.
 */
export async function smallUploads(
  server: BenchServer,
  { folder, upload, rows, bar }: Load,
): Promise<Row> {
  mkdirSync(folder)
  const uploadsPerSecond = async (seconds = SECONDS) =>
    (await drive(server, upload(BYTES), { connections: CLIENTS, seconds })).requestsPerSecond
  await uploadsPerSecond(WARMING_SECONDS)
  await bareWritesPerSecond(folder, rows, WARMING_SECONDS)
  const { ours, baseline, ratio } = await middleTurn(TURNS, {
    ours: () => uploadsPerSecond(),
    baseline: () => bareWritesPerSecond(folder, rows),
    ratio: quotient,
    bar,
  })
  return {
    what: `durable 10 KB uploads, against bare write, fsync, rename, fsync${rows ? ' and a row' : ''}`,
    ours: perSecond(ours),
    baseline: perSecond(baseline),
    ratio,
    ...atLeast(bar, ratio),
  }
}

async function bareWritesPerSecond(
  folder: string,
  rows: boolean,
  seconds = SECONDS,
): Promise<number> {
  const script = join(import.meta.dirname, '../baselines/bare-writes.ts')
  const work = { folder, bytes: BYTES, writers: CLIENTS, seconds, rows }
  const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(work)])
  return Number(stdout)
}
