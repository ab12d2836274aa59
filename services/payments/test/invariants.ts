import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { ApiReply } from '@plinth/kit/testing'
import { listAttempts } from '../src/payment/database/attempts.repository.ts'
import { findRefundAttempt } from '../src/payment/database/refunds.repository.ts'
import { derivePayment } from '../src/payment/state.ts'
import { booksOf, refundsOf, type Story, sessionsOf } from './world.ts'

const EXPECTED = [200, 201, 400, 409, 429, 502, 503]

/**
 * Whatever happens, the status is an expected one and a failure is a problem document. A 500 is only
 * for events that are stored for a retry, and for a service with an armed fail point (`breaking`).
 */
export function checkReply({ status, headers, body }: ApiReply, breaking: boolean): void {
  const kept = body?.code === 'EVENT_PROCESSING_FAILED'
  const expected = EXPECTED.includes(status) || (status === 500 && (breaking || kept))
  assert.ok(expected, `${status} ${JSON.stringify(body)}`)
  if (status < 400) return
  assert.equal(headers.get('content-type'), 'application/problem+json')
  assert.equal(body.status, status)
  assert.doesNotMatch(JSON.stringify(body), /sk_test|whsec/)
}

export async function checkInvariants(story: Story): Promise<void> {
  await checkProvider(story)
  if (!story.paymentId) return
  const { payment, attempts, refunds } = await readAtRest(story.world, story.paymentId)
  if (payment.id === undefined) return

  const { refundedAmount, amount } = payment
  assert.ok(refundedAmount >= 0 && refundedAmount <= amount, `${refundedAmount} of ${amount} back`)
  // What is stored of the state is what the attempts and refunds say.
  const derived = derivePayment(payment.amount, attempts, refunds)
  assert.deepEqual(
    [payment.status, payment.checkoutStatus, refundedAmount],
    [derived.status, derived.checkoutStatus, derived.refundedAmount],
  )
  // What was paid stays paid, or is refunded.
  const settled = !['PENDING', 'FAILED'].includes(payment.status)
  assert.ok(settled || !story.wasSettled, `settled before, now ${payment.status}`)
  story.wasSettled = settled
}

/** After a hint the service asks the provider by itself, so both reads must see the same state. */
async function readAtRest({ payment: read, timeline }: Story['world'], paymentId: string) {
  while (true) {
    const payment = await read(paymentId)
    const { attempts, refunds } = await timeline(paymentId)
    if (isDeepStrictEqual(payment, await read(paymentId))) return { payment, attempts, refunds }
  }
}

/** One payable session at most, one charge, one refund for each reference: as the provider's own books have it. */
async function checkProvider(story: Story): Promise<void> {
  const sessions = await sessionsOf(story)
  const payable = sessions.filter(({ status }) => status === 'open')
  assert.ok(payable.length <= 1, `${payable.length} payable sessions`)
  const books = await booksOf(story)
  assert.ok(books.filter(({ captured }) => captured > 0).length <= 1, 'charged twice')

  const refunds = await refundsOf(story)
  const references = refunds.flatMap(({ metadata }) => metadata.refundReference ?? [])
  assert.equal(new Set(references).size, references.length, `refunded twice: ${references}`)
  await checkAttempts(story)
}

/** Everything the provider did was reserved here first, or done in its dashboard. */
async function checkAttempts(story: Story): Promise<void> {
  const db = story.world.database()
  const sessions = Map.groupBy(await sessionsOf(story), ({ metadata }) => metadata.paymentId ?? '')
  for (const [paymentId, made] of sessions) {
    const attempts = await listAttempts(db, paymentId)
    assert.ok(made.length <= attempts.length, 'a session without an attempt')
  }
  let others = 0
  for (const { amount, metadata } of await refundsOf(story)) {
    const { refundReference } = metadata
    if (!refundReference) others += 1
    else {
      const attempt = await findRefundAttempt(db, story.paymentId ?? '', refundReference)
      assert.equal(attempt?.amount, amount, `a refund without an attempt: ${refundReference}`)
    }
  }
  assert.ok(others <= story.dashboardRefunds, 'a refund that no one made')
}

/** The oracle: once everything has settled, the payment matches the provider's books. */
export async function checkSettled(story: Story): Promise<void> {
  await checkInvariants(story)
  const book = (await booksOf(story)).find(({ captured }) => captured > 0)
  if (!story.paymentId) return assert.equal(book, undefined)
  const { status, refundedAmount } = await story.world.payment(story.paymentId)
  if (!book) return assert.ok([undefined, 'PENDING', 'FAILED'].includes(status), status)
  const refunded = book.refunded
  const expected = refunded === 0 ? 'PAID' : refunded < 1000 ? 'PARTIALLY_REFUNDED' : 'REFUNDED'
  assert.deepEqual([status, refundedAmount], [expected, refunded])
}
