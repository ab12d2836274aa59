import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createNetworkQueue } from './network-queue.ts'

type Queue = ReturnType<typeof createNetworkQueue<string>>

function drain(queue: Queue): string[] {
  const seen: string[] = []
  for (let entry = queue.shift(); entry; entry = queue.shift()) seen.push(entry)
  return seen
}

/** Each entry is the address that it comes from. */
function queueOf(limit: number, ...addresses: string[]): Queue {
  const queue = createNetworkQueue<string>(limit)
  for (const address of addresses) queue.push(address, address)
  return queue
}

describe('a queue that is fair between networks', () => {
  test('serves IPv4 addresses in turn, and the entries of each in order', () => {
    const queue = createNetworkQueue<string>(10)
    for (const entry of ['a1', 'a2', 'a3']) queue.push('192.0.2.1', entry)
    for (const entry of ['b1', 'b2']) queue.push('::ffff:192.0.2.2', entry)
    queue.push('command line', 'c1')

    assert.deepEqual(drain(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
    assert.equal(queue.size, 0)
  })

  test('gives the many /64s of one /48 as many turns as one /64 of another', () => {
    const attacker = Array.from({ length: 200 }, (_, n) => `2001:db8:bad:${n.toString(16)}::1`)
    const honest = Array.from({ length: 3 }, (_, n) => `2001:db8:900d:1::${n}`)
    const queue = queueOf(1000, ...attacker, ...honest)

    const first = drain(queue).slice(0, 6)

    assert.deepEqual(
      first.filter((address) => address.includes('900d')),
      honest,
    )
  })

  test('gives the many /64s of one /56 as many turns as another /56 of the same /48', () => {
    const attacker = Array.from({ length: 9 }, (_, n) => `2001:db8:1:10${n}::1`)
    const queue = queueOf(100, ...attacker, '2001:db8:1:200::1')

    assert.equal(drain(queue)[1], '2001:db8:1:200::1')
  })

  test('drops an entry of the largest network at every width when it is full', () => {
    const attacker = Array.from({ length: 3 }, (_, n) => `2001:db8:bad:${n}::1`)
    const queue = queueOf(4, '192.0.2.1', ...attacker)

    assert.equal(queue.push('192.0.2.2', 'newcomer'), '2001:db8:bad:2::1')
    assert.equal(queue.push('2001:db8:bad:3::1', 'more'), 'more')
    assert.equal(queue.size, 4)
  })

  test('forgets a removed entry', () => {
    const queue = queueOf(10, '2001:db8::1', '2001:db8::2', '192.0.2.1')

    queue.remove('2001:db8::3', '2001:db8::1')
    queue.remove('2001:db8::1', 'unknown')
    queue.remove('192.0.2.2', '192.0.2.1')

    assert.deepEqual(drain(queue), ['2001:db8::2', '192.0.2.1'])
  })
})
