import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { setImmediate as anotherTurn } from 'node:timers/promises'
import { inTurn, nextTurn } from './turns.ts'

test('several large pieces of work leave a turn of the event loop to others after each', async () => {
  const order: string[] = []
  for (const name of ['first', 'second', 'third']) inTurn(() => order.push(name))

  while (order.length < 6) {
    await anotherTurn()
    order.push('another request')
  }

  const other = 'another request'
  assert.deepEqual(order, ['first', other, 'second', other, 'third', other])
})

test('each piece runs in the context of the request that it belongs to', async () => {
  const request = new AsyncLocalStorage<string>()
  const seen: (string | undefined)[] = []
  for (const id of ['a', 'b']) request.run(id, () => inTurn(() => seen.push(request.getStore())))

  while (seen.length < 2) await anotherTurn()

  assert.deepEqual(seen, ['a', 'b'])
})

test('work that waits for its turn again and again takes turns with other work', async () => {
  const order: string[] = []
  const work = async (name: string) => {
    for (let part = 0; part < 2; part++) {
      await nextTurn()
      order.push(name)
    }
  }

  await Promise.all([work('first'), work('second')])

  assert.deepEqual(order, ['first', 'second', 'first', 'second'])
})
