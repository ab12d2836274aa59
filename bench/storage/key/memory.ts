import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchRequest } from '../../harness/compare.ts'
import type { Row } from '../../harness/row.ts'
import type { BenchServer } from '../../harness/server-process.ts'
import { MEGABYTES } from '../../harness/settings.ts'
import { memoryGrowth } from '../memory-growth.ts'
import { writeLargeFile } from '../transfers.ts'
import { keepList, plantFiles } from './lists.ts'
import { HEADERS, PNG_START, pngUpload, withService } from './service.ts'

const TEN_MEGABYTES = 10 * 2 ** 20 - 1000

type Load = {
  what: string
  request: BenchRequest
  prepare?: (root: string) => Promise<void> | void
  warmUp?: (server: BenchServer) => Promise<void>
}

export async function memory(folder: string): Promise<Row[]> {
  return [
    await growth(folder, {
      what: 'downloads',
      request: { path: '/file/large.png', headers: HEADERS },
      prepare: (root) => writeLargeFile(join(root, 'large.png'), MEGABYTES, PNG_START),
    }),
    await growth(folder, { what: '10 KB uploads', request: pngUpload(10 * 1024) }),
    await growth(folder, {
      what: 'lists',
      request: { path: '/file/list', headers: HEADERS },
      prepare: plantFiles,
      warmUp: keepList,
    }),
    await growth(folder, { what: '10 MB uploads', request: pngUpload(TEN_MEGABYTES) }),
  ]
}

/** Each load has its own process, because the peak memory of a process never goes down. */
async function growth(folder: string, { what, request, prepare, warmUp }: Load): Promise<Row> {
  const root = join(folder, what)
  mkdirSync(root)
  await prepare?.(root)
  const missing = { method: 'DELETE', path: '/file/missing', headers: HEADERS }
  return withService(root, async (server) => {
    await warmUp?.(server)
    return memoryGrowth(server, { what, warmUp: missing, request })
  })
}
