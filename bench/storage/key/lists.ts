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
    while (changed.length < TURNS) {
      await upload(server)
      changed.push(await listMs(server))
    }
    await keepList(server)
    while (repeated.length < TURNS) repeated.push(await listMs(server))
    return [row('after a change', changed, 150), row('again', repeated, 10)]
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

function row(what: string, times: number[], barMs: number): Row {
  const { p50Ms } = percentiles(times)
  return {
    what: `list ${number(FILES)} files ${what}`,
    ours: `${p50Ms.toFixed(1)} ms`,
    ...atMost(barMs, p50Ms, ' ms'),
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
