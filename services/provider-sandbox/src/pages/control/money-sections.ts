import type { readBooks } from '../../resources/money/books.ts'
import { formatAmount } from '../../resources/money/currencies.ts'
import type { CheckoutSession, Refund } from '../../state/object-kinds.ts'
import { type Html, html } from '../layout.ts'
import { actionButton, code, section, table } from './parts.ts'

export function sessionsSection(sessions: CheckoutSession[]): Html {
  const rows = sessions.map((session) => [
    session.url === null
      ? code(session.id)
      : html`<a href="/pay/${session.id}">${code(session.id)}</a>`,
    html`${formatAmount(session.amount_total, session.currency)}`,
    html`${session.status}, ${session.payment_status}`,
    html`${sessionActions(session)}`,
  ])
  const heads = ['Session', 'Amount', 'State', 'What next']
  return section('sessions', 'Checkout sessions', table('Checkout sessions', heads, rows))
}

function sessionActions({
  id,
  status,
  payment_status: paid,
  payment_intent: intent,
}: CheckoutSession) {
  if (status === 'open')
    return [
      actionButton('pay', 'Pay', id),
      actionButton('decline', 'Decline', id),
      actionButton('bank-debit', 'Bank debit', id),
      actionButton('expire', 'Expire', id),
    ]
  if (status === 'complete' && paid === 'unpaid' && intent !== null)
    return [actionButton('settle', 'Settle', id), actionButton('fail', 'Fail', id)]
  return []
}

export function refundsSection(refunds: Refund[]): Html {
  const rows = refunds.map((refund) => [
    code(refund.id),
    code(refund.payment_intent),
    html`${formatAmount(refund.amount, refund.currency)}`,
    html`${refund.status}`,
    html`${refundActions(refund)}`,
  ])
  const heads = ['Refund', 'Payment', 'Amount', 'State', 'What next']
  return section('refunds', 'Refunds', table('Refunds', heads, rows))
}

function refundActions({ id, status }: Refund): Html[] {
  const fail = actionButton('fail-refund', 'Fail', id)
  if (status === 'succeeded') return [fail]
  if (status !== 'pending' && status !== 'requires_action') return []
  const cancel = actionButton('cancel-refund', 'Cancel', id)
  return [actionButton('settle-refund', 'Succeed', id), fail, cancel]
}

export function booksSection({ totals }: Awaited<ReturnType<typeof readBooks>>): Html {
  const rows = Object.entries(totals).map(([currency, total]) => [
    html`${currency.toUpperCase()}`,
    ...[total.captured, total.refunded, total.pending, total.kept].map(
      (amount) => html`${formatAmount(amount, currency)}`,
    ),
  ])
  const heads = ['Currency', 'Captured', 'Refunded', 'On its way back', 'Kept']
  return section('books', 'Books', table('Books', heads, rows))
}
