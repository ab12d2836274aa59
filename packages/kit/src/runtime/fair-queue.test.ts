import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createFairQueue } from './fair-queue.ts'

const drain = (queue: ReturnType<typeof createFairQueue<string>>) => {
  const seen: string[] = []
  for (let entry = queue.shift(); entry; entry = queue.shift()) seen.push(entry)
  return seen
}

describe('a fair queue', () => {
  test('serves clients in turn, and the entries of each in order', () => {
    const queue = createFairQueue<string>(10)
    for (const entry of ['a1', 'a2', 'a3']) queue.push('a', entry)
    for (const entry of ['b1', 'b2']) queue.push('b', entry)
    queue.push('c', 'c1')

    assert.deepEqual(drain(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
    assert.equal(queue.size, 0)
  })

  test('gives the first turn after that of a client to another one, even if that one came later', () => {
    const queue = createFairQueue<string>(10)
    queue.push('a', 'a1')
    const first = queue.shift()

    queue.push('a', 'a2')
    queue.push('b', 'b1')
    const second = queue.shift()
    queue.push('c', 'c1')

    // Others who arrive later do not keep a client waiting for ever.
    assert.deepEqual([first, second, ...drain(queue)], ['a1', 'b1', 'a2', 'c1'])
  })

  test('drops the last entry of the longest lane when full, so that others are still served', () => {
    const queue = createFairQueue<string>(3)
    for (const entry of ['a1', 'a2', 'a3']) queue.push('a', entry)

    assert.equal(queue.push('a', 'a4'), 'a4')
    assert.equal(queue.push('b', 'b1'), 'a3')
    assert.deepEqual(drain(queue), ['a1', 'b1', 'a2'])
  })

  test('skips clients that are not ready', () => {
    const queue = createFairQueue<string>(10)
    for (const entry of ['a1', 'a2']) queue.push('a', entry)
    queue.push('b', 'b1')

    assert.equal(
      queue.shift((client) => client !== 'a'),
      'b1',
    )
    assert.equal(
      queue.shift((client) => client !== 'a'),
      undefined,
    )
    assert.deepEqual(drain(queue), ['a1', 'a2'])
  })

  test('forgets a removed entry', () => {
    const queue = createFairQueue<string>(10)
    queue.push('a', 'a1')
    queue.push('a', 'a2')

    queue.remove('a', 'a1')
    queue.remove('a', 'unknown')
    queue.remove('b', 'a2')

    assert.deepEqual(drain(queue), ['a2'])
  })
})
