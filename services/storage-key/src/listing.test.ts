import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createListing } from './listing.ts'

/** A listing whose clock stands still unless the test advances it. */
function openListing(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-listing-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const clock = { nowMs: 0 }
  const list = createListing(folder, { now: () => clock.nowMs })
  const names = async (): Promise<string[]> => JSON.parse((await list()).toString())
  return { folder, clock, list, names }
}

test('a list is reused once the folder has been unchanged for two seconds', async (t) => {
  const { folder, clock, list } = openListing(t)
  writeFileSync(join(folder, 'a'), '')

  const first = await list()
  clock.nowMs = 1999
  const young = await list()
  clock.nowMs = 2000
  const settled = await list()

  assert.notEqual(young, first)
  assert.notEqual(settled, young)
  assert.equal(await list(), settled)
})

test('a file added or removed after a list was cached is seen in the next list', async (t) => {
  const { folder, clock, names } = openListing(t)
  const keepList = async () => {
    await names()
    clock.nowMs += 2000
    await names()
  }

  // The changes may be within one tick of the real clock, but are two seconds apart for the listing.
  const stamp = () => utimesSync(folder, clock.nowMs / 1000, clock.nowMs / 1000)

  await keepList()
  writeFileSync(join(folder, 'a'), '')
  stamp()
  assert.deepEqual(await names(), ['a'])
  await keepList()
  rmSync(join(folder, 'a'))
  stamp()

  assert.deepEqual(await names(), [])
})

test('with coarse time stamps, a change within one tick is seen in the next list', async (t) => {
  const { folder, clock } = openListing(t)
  const timesOf = async () => String(Math.floor(clock.nowMs / 2000))
  const list = createListing(folder, { now: () => clock.nowMs, timesOf })
  const names = async (): Promise<string[]> => JSON.parse((await list()).toString())

  for (let turn = 0; turn < 20; turn += 1) {
    writeFileSync(join(folder, 'a'), '')
    assert.deepEqual(await names(), ['a'])
    clock.nowMs += 300
    assert.deepEqual(await names(), ['a'])
    rmSync(join(folder, 'a'))
    assert.deepEqual(await names(), [])
  }
})
