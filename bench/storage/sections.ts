import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Row } from '../harness.ts'

/** Measures in a folder that is gone afterwards. */
export type Section = (folder: string) => Promise<Row[]>

/** All sections, or those that BENCH_SECTIONS names: `BENCH_SECTIONS=lists,memory`. */
export async function runSections(sections: Record<string, Section>): Promise<Row[]> {
  const wanted = process.env.BENCH_SECTIONS?.split(',')
  const rows: Row[] = []
  for (const [name, section] of Object.entries(sections)) {
    if (wanted && !wanted.includes(name)) continue
    const folder = mkdtempSync(join(tmpdir(), 'plinth-storage-bench-'))
    try {
      rows.push(...(await section(folder)))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return rows
}
