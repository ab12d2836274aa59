import assert from 'node:assert/strict'
import {
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSqliteKysely } from './kysely.ts'
import { openReserve } from './reserve.ts'

const FULL = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })

async function open(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-reserve-'))
  const file = join(folder, 'test.db')
  const db = openSqliteKysely(file)
  t.after(async () => {
    await db.destroy()
    rmSync(folder, { recursive: true })
  })
  const withReserve = await openReserve(db, file)
  const reserved = () => statSync(`${file}-reserve`, { throwIfNoEntry: false })?.size
  return { withReserve, reserved }
}

test('disk space is reserved while there is some', async (t) => {
  const { withReserve, reserved } = await open(t)

  assert.equal(await withReserve(async () => reserved()), 2 ** 20)
})

test('the reserve is never written through a link, which root might follow to a file of its own', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-reserve-'))
  const [file, elsewhere] = [join(folder, 'test.db'), join(folder, 'elsewhere')]
  const db = openSqliteKysely(file)
  t.after(async () => {
    await db.destroy()
    rmSync(folder, { recursive: true })
  })
  writeFileSync(elsewhere, 'not ours')
  symlinkSync(elsewhere, `${file}-reserve`)

  await openReserve(db, file)

  assert.equal(readFileSync(elsewhere, 'utf8'), 'not ours')
  assert.equal(lstatSync(`${file}-reserve`).size, 2 ** 20)
})

test('work that finds the disk full gets the reserve, which is restored afterwards', async (t) => {
  const { withReserve, reserved } = await open(t)
  const seen: unknown[] = []

  const result = await withReserve(async () => {
    seen.push(reserved())
    if (seen.length === 1) throw FULL
    return 'done'
  })

  assert.equal(result, 'done')
  assert.deepEqual(seen, [2 ** 20, undefined])
  assert.equal(reserved(), 2 ** 20)
})

test('work that does not fit even then fails as full, and is not retried again', async (t) => {
  const { withReserve, reserved } = await open(t)
  let times = 0

  const failing = withReserve(async () => {
    times += 1
    throw FULL
  })

  await assert.rejects(failing, FULL)
  assert.equal(times, 2)
  assert.equal(reserved(), 2 ** 20)
})

test('work that fails for another reason is not retried', async (t) => {
  const { withReserve } = await open(t)
  let times = 0

  const failing = withReserve(async () => {
    times += 1
    throw new Error('a bug')
  })

  await assert.rejects(failing, /a bug/)
  assert.equal(times, 1)
})
