import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { propertyRuns } from '@plinth/kit/testing'
import { array, asyncProperty, boolean, assert as check, constantFrom, record } from 'fast-check'
import { createListing } from './listing.ts'

function openListing(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-listing-'))
  const listing = createListing(folder)
  t.after(() => {
    listing.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const names = async (): Promise<string[]> => JSON.parse((await listing.body()).toString())
  return { folder, listing, names }
}

test('more changes than are worth looking at one by one are all seen', async (t) => {
  const { folder, names } = openListing(t)
  await names()

  for (let count = 0; count < 1500; count += 1) writeFileSync(join(folder, `f${count}`), '')

  assert.equal((await names()).length, 1500)
})

test('a folder put in the place of another is read anew', async (t) => {
  const { folder, names } = openListing(t)
  const other = mkdtempSync(join(tmpdir(), 'plinth-listing-'))
  writeFileSync(join(other, 'new'), '')
  writeFileSync(join(folder, 'old'), '')
  assert.deepEqual(await names(), ['old'])

  rmSync(folder, { recursive: true })
  renameSync(other, folder)

  assert.deepEqual(await names(), ['new'])
  writeFileSync(join(folder, 'newer'), '')
  assert.deepEqual(await names(), ['new', 'newer'])
})

test('an unchanged folder gives the same bytes without being read', async (t) => {
  const { folder, listing } = openListing(t)
  writeFileSync(join(folder, 'a'), '')

  const [first, second] = [await listing.body(), await listing.body()]

  assert.equal(first, second)
})

test('whatever is added and removed, by us or by hand, the list is the folder', async (t) => {
  const change = record({
    name: constantFrom('a', 'b', 'c', 'd', 'e'),
    present: boolean(),
    ours: boolean(),
    thenList: boolean(),
  })
  const { folder, listing, names } = openListing(t)
  const expected = new Set<string>()

  await check(
    asyncProperty(array(change, { maxLength: 30 }), async (changes) => {
      for (const { name, present, ours, thenList } of changes) {
        if (present) writeFileSync(join(folder, name), '')
        else rmSync(join(folder, name), { force: true })
        if (present) expected.add(name)
        else expected.delete(name)
        if (ours) listing.touch(name)
        if (thenList) assert.deepEqual(await names(), [...expected].sort())
      }
      assert.deepEqual(await names(), [...expected].sort())
    }),
    { numRuns: propertyRuns(100) },
  )
})
