import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isUnfinished } from './place.ts'
import { Room } from './room.ts'

const clockAt = (day: number) => () => new Date(`2026-11-${day}T02:00:00.000Z`)
const asideOf = (day: number) => `.before-restore-202611${day}T020000000Z`

/** Two services that keep one file each, and the journal of restores. */
function twoServices(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-room-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const services = ['one', 'two'].map((name) => ({ name, keys: {}, root: join(folder, name) }))
  for (const { root } of services) {
    mkdirSync(root)
    writeFileSync(join(root, 'a'), 'mine')
  }
  const journal = join(folder, '.restore_in_progress')
  const listed = () => JSON.parse(readFileSync(journal, 'utf8'))
  const roomAt = (day: number, { replace = false, only = services } = {}) =>
    new Room(only, { clock: clockAt(day), journal, replace })
  const names = (service: string) => readdirSync(join(folder, service)).toSorted()
  return { folder, services, journal, listed, roomAt, names }
}

test('data that is there is not touched without --replace', async (t) => {
  const { folder, journal, roomAt, names } = twoServices(t)

  await assert.rejects(roomAt(16).make(), {
    reason: 'refused',
    message: `There is data already in ${join(folder, 'one')}, ${join(folder, 'two')}: restore to another place, or use --replace to move it aside.`,
  })

  assert.deepEqual([names('one'), existsSync(journal)], [['a'], false])
})

test('a restore that was killed is run again without --replace, and names the first data', async (t) => {
  const { folder, services, journal, listed, roomAt, names } = twoServices(t)
  await roomAt(16, { replace: true }).make()
  const { since, services: begun, aside } = listed()
  assert.deepEqual([since, begun, aside.length], ['2026-11-16T02:00:00.000Z', ['one', 'two'], 2])
  writeFileSync(join(services[0]?.root ?? '', 'half'), 'restored')

  const again = roomAt(17)
  await again.make()
  const { setAside, leftovers } = await again.release()

  assert.deepEqual(
    setAside,
    ['one', 'two'].map((name) => join(folder, name, asideOf(16))),
  )
  assert.deepEqual([leftovers, existsSync(journal)], [[], false])
  for (const name of ['one', 'two']) {
    assert.deepEqual(names(name), [asideOf(16)])
    assert.equal(readFileSync(join(folder, name, asideOf(16), 'a'), 'utf8'), 'mine')
  }
})

test('what a service may have used after a killed restore is moved aside, and named', async (t) => {
  const { folder, services, roomAt } = twoServices(t)
  await roomAt(16, { replace: true }).make()
  const [one] = services
  assert.ok(one)
  // Without the mark, a service may have started on it.
  rmSync(join(one.root, '.restore_in_progress'))
  writeFileSync(join(one.root, 'new'), 'uploaded')

  const again = roomAt(17)
  await again.make()
  const { setAside, leftovers } = await again.release()

  assert.equal(setAside.length, 2)
  assert.deepEqual(leftovers, [join(folder, 'one', asideOf(17))])
  assert.equal(readFileSync(join(folder, 'one', asideOf(17), 'new'), 'utf8'), 'uploaded')
})

test('the journal keeps the services that a killed restore began and another one does not have', async (t) => {
  const { services, journal, listed, roomAt } = twoServices(t)
  await roomAt(16, { replace: true }).make()

  const again = roomAt(17, { only: services.slice(0, 1) })
  await again.make()
  assert.deepEqual(listed().services, ['one', 'two'])
  await again.release()

  assert.deepEqual([existsSync(journal), listed().services], [true, ['two']])
})

test('a failure puts the first data back, unless a restore was killed before', async (t) => {
  const { journal, roomAt, names } = twoServices(t)
  const failed = roomAt(16, { replace: true })
  await failed.make()
  assert.deepEqual(await failed.undo(), [])
  assert.deepEqual([names('one'), names('two'), existsSync(journal)], [['a'], ['a'], false])

  await roomAt(17, { replace: true }).make()
  const again = roomAt(18)
  await again.make()
  assert.deepEqual(await again.undo(), [])
  assert.deepEqual([names('one').includes('a'), existsSync(journal)], [false, true])
})

test('a move that a killed restore had listed but not begun is done under its first name, and listed once', async (t) => {
  const { folder, services, journal, listed, roomAt, names } = twoServices(t)
  const one = services.slice(0, 1)
  const aside = {
    place: join(folder, 'one'),
    stamp: '20261116T020000000Z',
    to: join(folder, 'one', asideOf(16)),
    isPrevious: true,
    isDone: false,
  }
  const since = clockAt(16)().toISOString()
  writeFileSync(journal, JSON.stringify({ since, services: ['one'], aside: [aside] }))

  await roomAt(17, { only: one }).make()

  assert.deepEqual(listed().aside, [{ ...aside, isDone: true }])
  assert.deepEqual(names('one'), ['.restore_in_progress', asideOf(16)].toSorted())
})

test('an empty database is marked before it is filled', async (t) => {
  const { folder, journal } = twoServices(t)
  const database = {
    ...{ url: `sqlite:${join(folder, 'notes.db')}`, setting: 'NOTES_DATABASE_URL' },
    ...{ migrations: [], sealed: {} },
  }
  const service = { name: 'notes', keys: {}, database }

  await new Room([service], { clock: clockAt(16), journal, replace: false }).make()

  assert.equal(await isUnfinished(service), true)
})
