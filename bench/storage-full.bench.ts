import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { s3Missing, startS3 } from '../test/servers/s3.ts'
import type { Row } from './harness.ts'
import { listings } from './storage-full/listings.ts'
import { localTransfers } from './storage-full/local-transfers.ts'
import { objectTransfers } from './storage-full/object-transfers.ts'
import { thumbnails } from './storage-full/thumbnails.ts'

export default async function bench(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-storage-full-bench-'))
  const cleanups: (() => Promise<void> | void)[] = [
    () => rmSync(folder, { recursive: true, force: true }),
  ]
  try {
    const rows = [
      ...(await localTransfers(folder)),
      ...(await thumbnails(folder)),
      ...(await listings(folder)),
    ]
    if (await s3Missing()) return rows
    const s3 = await startS3({ after: (work) => cleanups.push(work) })
    return [...rows, ...(await objectTransfers(folder, s3.settings))]
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}
