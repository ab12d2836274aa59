import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openSqlite } from './file.ts'
import { groupCommit } from './group-commit.ts'
import { Writer } from './writer.ts'

/** Counts the database transactions that are made for the callers' transactions. */
function startGroup(t: TestContext) {
  const writer = new Writer(openSqlite(':memory:'))
  t.after(() => writer.close())
  const made = t.mock.method(writer, 'transaction')
  return { made, inGroup: groupCommit(writer, (run) => run as never) }
}

test('transactions requested together share one database transaction', async (t) => {
  const { made, inGroup } = startGroup(t)

  await Promise.all(Array.from({ length: 5 }, () => inGroup(async () => {})))

  assert.equal(made.mock.callCount(), 1)
})

test('a transaction requested in the next turn still joins the group', async (t) => {
  const { made, inGroup } = startGroup(t)
  const second = Promise.withResolvers<void>()

  await inGroup(async () => {
    setImmediate(() => inGroup(async () => {}).then(second.resolve, second.reject))
  })
  await second.promise

  assert.equal(made.mock.callCount(), 1)
})

test('more than 32 transactions need more than one database transaction', async (t) => {
  const { made, inGroup } = startGroup(t)

  await Promise.all(Array.from({ length: 33 }, () => inGroup(async () => {})))

  assert.equal(made.mock.callCount(), 2)
})

test('when no database transaction can begin, all that wait fail, and later ones succeed', async (t) => {
  const { made, inGroup } = startGroup(t)
  made.mock.mockImplementationOnce(() => Promise.reject(new Error('locked')))

  const waiting = await Promise.allSettled([1, 2, 3].map(() => inGroup(async () => 'done')))
  const later = await inGroup(async () => 'done')

  const reasons = waiting.map((one) => (one.status === 'rejected' ? one.reason.message : one.value))
  assert.deepEqual(reasons, ['locked', 'locked', 'locked'])
  assert.equal(later, 'done')
})
