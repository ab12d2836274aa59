import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { HOST_NAME, Spool } from './spool.ts'
import { sweepOldSpools, sweepSpools } from './sweep.ts'

function folderWith(t: TestContext, names: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-sweep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const name of names) writeFileSync(join(folder, name), '')
  return folder
}

test('the files of ended processes are removed, not those of a running one', async (t) => {
  const living = `${process.ppid}.${HOST_NAME}.b.part`
  const ownBefore = basename(new Spool('', { sha256: false }).path)
  const folder = folderWith(t, [`999999999.${HOST_NAME}.a.part`, living, ownBefore])

  assert.equal(await sweepSpools(folder), 2)

  assert.deepEqual(readdirSync(folder), [living])
})

test('a file of another machine is kept, even when its process id is ours or unused', async (t) => {
  const names = [`${process.pid}.c.part`, `999999999.other.b.part`, `${process.pid}.other.a.part`]
  const folder = folderWith(t, names)

  assert.equal(await sweepSpools(folder), 0)

  assert.deepEqual(readdirSync(folder).sort(), names.sort())
})

test('a folder is never removed, whatever its name', async (t) => {
  const folder = folderWith(t, [])
  mkdirSync(join(folder, `999999999.${HOST_NAME}.a.part`))

  assert.equal(await sweepSpools(folder), 0)
})

test('processes that start together may sweep the same leftovers', async (t) => {
  const names = Array.from({ length: 200 }, (_, index) => `999999999.${HOST_NAME}.${index}.part`)
  const folder = folderWith(t, names)

  await Promise.all(Array.from({ length: 4 }, () => sweepSpools(folder)))

  assert.deepEqual(readdirSync(folder), [])
})

test('after a day a file is removed whichever machine left it', async (t) => {
  const names = [`${process.ppid}.old.part`, '1.other.old.part', '1.other.new.part']
  const folder = folderWith(t, names)
  for (const name of names.slice(0, 2)) utimesSync(join(folder, name), 0, 0)

  await sweepOldSpools(folder)

  assert.deepEqual(readdirSync(folder), ['1.other.new.part'])
})
