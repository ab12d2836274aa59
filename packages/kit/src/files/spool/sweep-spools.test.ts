import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { HOST_NAME, spoolPath } from './spool.ts'
import { sweepOldSpools, sweepSpools } from './sweep.ts'

function folderWith(t: TestContext, names: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-sweep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const name of names) writeFileSync(join(folder, name), '')
  return folder
}

test('leftovers of processes that are gone go, and not those of a living one', async (t) => {
  const living = `${process.ppid}.${HOST_NAME}.b.part`
  const ownBefore = basename(spoolPath(''))
  const folder = folderWith(t, [`999999999.${HOST_NAME}.a.part`, living, ownBefore])

  assert.equal(await sweepSpools(folder), 2)

  assert.deepEqual(readdirSync(folder), [living])
})

test('a file of another machine is spared although its process number is ours, or nobody’s', async (t) => {
  const names = [`${process.pid}.c.part`, `999999999.other.b.part`, `${process.pid}.other.a.part`]
  const folder = folderWith(t, names)

  assert.equal(await sweepSpools(folder), 0)

  assert.deepEqual(readdirSync(folder).sort(), names.sort())
})

test('a folder is no leftover, whatever its name', async (t) => {
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

test('after a day it does not matter whose a file was', async (t) => {
  const names = [`${process.ppid}.old.part`, '1.other.old.part', '1.other.new.part']
  const folder = folderWith(t, names)
  for (const name of names.slice(0, 2)) utimesSync(join(folder, name), 0, 0)

  await sweepOldSpools(folder)

  assert.deepEqual(readdirSync(folder), ['1.other.new.part'])
})
