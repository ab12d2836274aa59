import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { archiveName } from '../archive/manifest.ts'
import { listBackups, pruneBackups } from './archives.ts'

/** One archive a day, the last on Wednesday the 18th of November. */
function folderOf(t: TestContext, days: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-kept-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (let day = 0; day < days; day++)
    writeFileSync(join(folder, archiveName(new Date(Date.UTC(2026, 10, 18 - day, 2)), '1.0.0')), '')
  return folder
}

const daysIn = async (folder: string) =>
  (await listBackups(folder)).map(({ createdAt }) => createdAt.slice(5, 10))

test('the newest archives are kept, and the newest of each week', async (t) => {
  const folder = folderOf(t, 30)

  const pruned = await pruneBackups(folder, { keep: 3, weeks: 3 })

  assert.deepEqual(await daysIn(folder), ['11-18', '11-17', '11-16', '11-15', '11-08'])
  assert.equal(pruned.length, 25)
  assert.deepEqual(await pruneBackups(folder, { keep: 3, weeks: 3 }), [])
})

test('with zero weeks only the newest are kept, and unrelated files stay', async (t) => {
  const folder = folderOf(t, 5)
  writeFileSync(join(folder, 'notes.txt'), '')

  await pruneBackups(folder, { keep: 2, weeks: 0 })

  assert.deepEqual(await daysIn(folder), ['11-18', '11-17'])
  assert.equal((await listBackups(join(folder, 'absent'))).length, 0)
})
