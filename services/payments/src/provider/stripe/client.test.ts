import assert from 'node:assert/strict'
import { test } from 'node:test'
import type Stripe from 'stripe'
import { createStripeCall } from './client.ts'

const OPTIONS = {
  secretKey: 'sk_test_x',
  providerMilliseconds: 1000,
  providerRetries: 0,
}

test('a client that failed to load is loaded again by the next call', async () => {
  let loads = 0
  const call = createStripeCall(OPTIONS, async () => {
    loads += 1
    if (loads === 1) throw new Error('too many open files')
    return {} as Stripe
  })

  await assert.rejects(
    call(async () => ({ id: 'never' })),
    /too many open files/,
  )
  const reply = await call(async () => ({ id: 'made' }))

  assert.deepEqual([reply.id, loads], ['made', 2])
})
