import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readSession } from './objects.ts'

describe('the state of a session', () => {
  const stateOf = (session: Record<string, unknown>, eventType?: string) =>
    readSession({ id: 'cs_1', payment_status: 'unpaid', ...session }, eventType).state
  const complete = (intentStatus?: string) =>
    stateOf({ status: 'complete', payment_intent: { id: 'pi_1', status: intentStatus } })

  test('is paid when the payment or its intent is, and when nothing had to be paid', () => {
    assert.equal(stateOf({ status: 'complete', payment_status: 'paid' }), 'paid')
    assert.equal(stateOf({ status: 'complete', payment_status: 'no_payment_required' }), 'paid')
    assert.equal(complete('succeeded'), 'paid')
  })

  test('depends on the intent when the session is complete but unpaid', () => {
    assert.equal(complete(), 'processing')
    assert.equal(complete('processing'), 'processing')
    assert.equal(complete('requires_payment_method'), 'failed')
    assert.equal(complete('canceled'), 'failed')
  })

  test('follows the session status, and the event type where it says more', () => {
    const of = (kind: string) => stateOf({ status: 'open' }, `checkout.session.${kind}`)

    assert.deepEqual(
      [stateOf({ status: 'open' }), stateOf({ status: 'expired' })],
      ['open', 'expired'],
    )
    assert.deepEqual([of('expired'), of('completed')], ['expired', 'processing'])
    assert.deepEqual(
      [of('async_payment_succeeded'), of('async_payment_failed')],
      ['paid', 'failed'],
    )
  })
})
