import type { Payment } from '@plinth/client'
import { Notice } from '../family/parts/card.tsx'
import { useLoad } from '../family/use-reply.ts'
import { moneyText } from '../family/wording.ts'
import { api } from './api.ts'
import { PaymentBadge } from './status-badges.tsx'

const WORDS: Record<string, string> = {
  success: 'The customer is back from the hosted page.',
  cancelled: 'The customer left the hosted page without paying.',
}

/** Where the hosted page sends the customer back to, when no other page is configured. */
export function ReturnNotice() {
  const outcome = new URLSearchParams(location.search).get('checkout')
  const words = outcome && WORDS[outcome]
  return words ? <Returned words={words} good={outcome === 'success'} /> : null
}

function Returned({ words, good }: { words: string; good: boolean }) {
  const newest = useLoad<{ content: Payment[] }>(() =>
    api.get('/api/payments?size=1&sort=updatedAt,desc'),
  )
  const payment = newest.body?.content[0]
  return (
    <Notice tone={good ? 'good' : 'warn'}>
      <p role="status">
        <strong>{words}</strong> A return is only a visit: what counts is the signed webhook.
      </p>
      {payment && (
        <p class="row">
          <a href={`#/payments/${payment.id}`}>{payment.businessReference}</a>
          {moneyText(payment.amount, payment.currency)}
          <PaymentBadge payment={payment} />
        </p>
      )}
    </Notice>
  )
}
