import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { HashTask } from './phc.ts'
import { createPasswordPool, type PoolOptions } from './pool.ts'

const A = { address: '192.0.2.1', isKnown: false }
const B = { address: '192.0.2.2', isKnown: false }
const cost = { memoryKib: 8, passes: 1, lanes: 1 }
const expensive = { memoryKib: 65_536, passes: 8, lanes: 1 }
const hashing = (password: string, at = cost): HashTask => ({ kind: 'hash', password, cost: at })

function startPool(t: TestContext, options: Partial<PoolOptions> = {}) {
  const pool = createPasswordPool({ workers: 1, queueLimit: 100, deadlineSeconds: 60, ...options })
  t.after(() => pool.close())
  return pool
}

describe('the pool of hashing threads', () => {
  test('hashes and verifies', async (t) => {
    const pool = startPool(t)

    const hash = String(await pool.run(hashing('secret'), A))

    assert.match(hash, /^\$argon2id\$v=19\$m=8,t=1,p=1\$/)
    assert.equal(await pool.run({ kind: 'verify', password: 'secret', hash }, A), true)
    assert.equal(await pool.run({ kind: 'verify', password: 'Secret', hash }, A), false)
  })

  test('does not block the event loop', async (t) => {
    const pool = startPool(t)
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    }, 1)

    await pool.run(hashing('secret', expensive), A)
    clearInterval(timer)

    assert.ok(turns > 10, `${turns} turns`)
  })

  test('serves a new client before the rest of a flood', async (t) => {
    const pool = startPool(t)
    const order: string[] = []
    const run = async (client: string, task = hashing('x')) => {
      await pool.run(task, { address: client, isKnown: false })
      order.push(client)
    }

    const flood = Array.from({ length: 20 }, () => run('flood'))
    const newcomer = run('newcomer')
    await Promise.all([...flood, newcomer])

    assert.ok(order.indexOf('newcomer') <= 3, order.join())
  })

  test('serves a network where the user has a session first, and the others every fourth turn', async (t) => {
    const pool = startPool(t)
    const order: string[] = []
    const run = async (address: string, isKnown: boolean) => {
      await pool.run(hashing('x'), { address, isKnown })
      order.push(isKnown ? 'known' : 'unknown')
    }

    const unknown = Array.from({ length: 20 }, (_, n) => run(`192.0.2.${n}`, false))
    const known = Array.from({ length: 6 }, () => run('198.51.100.1', true))
    await Promise.all([...unknown, ...known])

    // The thread had two tasks before the others came.
    const turns = order.slice(2, 10)
    assert.equal(turns.filter((turn) => turn === 'known').length, 6)
    assert.equal(turns.filter((turn) => turn === 'unknown').length, 2)
  })

  test('refuses tasks that would wait too long, with Retry-After', async (t) => {
    const pool = startPool(t, { deadlineSeconds: 0.05 })
    const first = pool.run(hashing('x', expensive), A)
    const second = pool.run(hashing('x'), A)

    await assert.rejects(pool.run(hashing('y'), B), (problem: Record<string, unknown>) => {
      assert.equal(problem.status, 503)
      assert.deepEqual(problem.headers, { 'retry-after': '5' })
      return true
    })
    for (const hash of [await first, await second]) assert.match(String(hash), /^\$argon2id/)
  })

  test('queues no more than its limit', async (t) => {
    const pool = startPool(t, { queueLimit: 2 })

    const results = await Promise.allSettled(
      Array.from({ length: 6 }, () => pool.run(hashing('x'), A)),
    )

    const refused = results.filter(({ status }) => status === 'rejected')
    assert.equal(refused.length, 2)
  })

  test('reuses an idle thread of a closed pool', async (t) => {
    const first = startPool(t)
    await first.run(hashing('x'), A)
    await first.close()
    let started = 0
    const count = () => {
      started += 1
    }
    process.on('worker', count)
    t.after(() => process.off('worker', count))

    const second = startPool(t)
    await second.run(hashing('x'), A)

    assert.equal(started, 0)
  })

  test('continues after a failed task', async (t) => {
    const pool = startPool(t)

    await assert.rejects(pool.run({ kind: 'verify', password: 'x', hash: 'nonsense' }, A))

    assert.match(String(await pool.run(hashing('x'), A)), /^\$argon2id/)
  })

  test('refuses waiting tasks when it is closed', async (t) => {
    const pool = startPool(t)
    const running = pool.run(hashing('x', expensive), A)
    const waiting = pool.run(hashing('y'), A)
    const both = Promise.allSettled([running, waiting])

    await pool.close()

    assert.deepEqual(
      (await both).map(({ status }) => status),
      ['rejected', 'rejected'],
    )
  })
})
