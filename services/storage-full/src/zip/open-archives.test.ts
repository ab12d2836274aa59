import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenArchives } from './open-archives.ts'
import { zipsBusy } from './problems.ts'

const here = new AbortController().signal
const isBusy = (error: unknown) => zipsBusy.is(error)

/** Archives of which the first is being prepared until it is let go. */
function startBusy() {
  const { prepare, admit } = createOpenArchives()
  const { promise, resolve: letGo } = Promise.withResolvers<void>()
  const prepared: string[] = []
  const ask = (name: string, maker: string, left = here) =>
    prepare(maker, left, async () => {
      if (prepared.length === 0) await promise
      prepared.push(name)
    })
  return { ask, admit, prepared, letGo }
}

test('makers take turns, so that many archives of one hold up no other', async () => {
  const { ask, prepared, letGo } = startBusy()
  const asked = ['a1', 'a2', 'a3', 'a4'].map((name) => ask(name, 'a'))
  asked.push(ask('b1', 'b'), ask('c1', 'c'))

  letGo()
  await Promise.all(asked)

  assert.deepEqual(prepared, ['a1', 'b1', 'a2', 'c1', 'a3', 'a4'])
})

test('for a client that leaves while it waits nothing is prepared, and it takes no place', async () => {
  const { ask, prepared, letGo } = startBusy()
  const first = ask('first', 'a')
  const client = new AbortController()
  const left = Array.from({ length: 128 }, (_, n) => ask(`left ${n}`, 'a', client.signal))
  const refused = assert.rejects(ask('one too many', 'a'), isBusy)

  client.abort()
  await Promise.all(left.map((each) => assert.rejects(each, isBusy)))
  const waited = ask('waited', 'a')
  await assert.rejects(ask('left before', 'a', client.signal), isBusy)
  letGo()
  await Promise.all([first, refused, waited])

  assert.deepEqual(prepared, ['first', 'waited'])
})

test('when two makers have filled all room, another still gets one small archive', () => {
  const { admit } = createOpenArchives()
  const ends = [admit('a', 50_000), admit('b', 50_000)]

  assert.throws(() => admit('c', 10_001), isBusy)
  ends.push(admit('c', 10_000))
  assert.throws(() => admit('c', 1), isBusy)
  for (let maker = 0; maker < 9; maker++) ends.push(admit(`small ${maker}`, 10_000))
  assert.throws(() => admit('d', 1), isBusy)
  for (const end of ends) end()

  assert.doesNotThrow(() => admit('d', 100_001))
})
