import { randomUUID } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { percentiles } from '../../harness/latency.ts'
import { atMost, number, type Row } from '../../harness/row.ts'
import type { BenchServer } from '../../harness/server-process.ts'
import { FILES } from '../../harness/settings.ts'
import { curlDownload } from '../transfers.ts'
import { KEY_HEADER, pngUpload, withService } from './service.ts'

const TURNS = 11
const BAR_CHANGED = 2
const BAR_AGAIN = 0.1
/** The service caches a list once the folder has been unchanged for two seconds. */
const SETTLED_MS = 2100

/** A list after a change, and a list of an unchanged folder. */
export async function lists(folder: string): Promise<Row[]> {
  const root = join(folder, 'many')
  return withService(root, async (server) => {
    plantFiles(root)
    await listMs(server)
    const changed: number[] = []
    const repeated: number[] = []
    const bare: number[] = []
    while (changed.length < TURNS) {
      await upload(server)
      changed.push(await listMs(server))
      bare.push(bareListMs(root))
    }
    await keepList(server)
    while (repeated.length < TURNS) repeated.push(await listMs(server))
    return [
      row('after a change', { times: changed, bare, bar: BAR_CHANGED }),
      row('again', { times: repeated, bare, bar: BAR_AGAIN }),
    ]
  })
}

/** Leaves the service with a cached list. */
export async function keepList(server: BenchServer): Promise<void> {
  await listMs(server)
  await delay(SETTLED_MS)
  await listMs(server)
}

export function plantFiles(root: string): void {
  for (let count = readdirSync(root).length; count <= FILES; count += 1)
    writeFileSync(join(root, `${randomUUID()}.png`), '')
}

/** What a program does that knows nothing of names: reads the folder, sorts and prints it. */
function bareListMs(root: string): number {
  const begun = performance.now()
  JSON.stringify(readdirSync(root).sort())
  return performance.now() - begun
}

type Measured = { times: number[]; bare: number[]; bar: number }

function row(what: string, { times, bare, bar }: Measured): Row {
  const ours = percentiles(times).p50Ms
  const baseline = percentiles(bare).p50Ms
  return {
    what: `list ${number(FILES)} files ${what}, against reading and sorting the folder`,
    ours: `${ours.toFixed(1)} ms`,
    baseline: `${baseline.toFixed(1)} ms`,
    ratio: ours / baseline,
    ...atMost(bar, ours / baseline),
  }
}

async function upload(server: BenchServer): Promise<void> {
  const { method, path, headers, body } = pngUpload(1024)
  await (await fetch(server.url + path, { method, headers, body })).text()
}

/** Uses a cheap client, because the list is several megabytes. */
async function listMs(server: BenchServer): Promise<number> {
  return (await curlDownload(`${server.url}/file/list`, KEY_HEADER)) * 1000
}
