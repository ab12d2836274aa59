import { formatAmount } from '../money/currencies.ts'
import type { CheckoutSession } from '../objects/object-kinds.ts'
import { html } from '../pages/html.ts'
import type { Page } from '../pages/layout.ts'
import { returnAddress } from './return-address.ts'

/** Where the bank asks whether it is really the customer. */
export function challengePage(session: CheckoutSession): Page {
  const amount = formatAmount(session.amount_total, session.currency)
  const main = html`
<h1>Is it you?</h1>
<p>Your bank asks you to confirm this payment of ${amount}.</p>
<form method="post" action="/pay/${session.id}/challenge" class="card">
<button name="accepted" value="true">Yes, confirm</button>
<button name="accepted" value="false" class="quiet">No, refuse</button>
</form>`
  return { title: 'Your bank asks', main }
}

/** A session that can no longer be paid: what became of it, and the way back. */
export function finishedPage(session: CheckoutSession): Page {
  const amount = formatAmount(session.amount_total, session.currency)
  const back = returnAddress(session)
  const { title, text } = endingOf(session, amount)
  const main = html`
<h1>${title}</h1>
<p>${text}</p>
${back !== null && html`<p><a class="button" href="${back}">Go back to the shop</a></p>`}`
  return { title, main }
}

function endingOf({ status, payment_status: paid }: CheckoutSession, amount: string) {
  if (status === 'expired')
    return { title: 'This checkout has expired', text: `Nothing was paid. It was for ${amount}.` }
  if (paid === 'unpaid')
    return {
      title: 'The payment is on its way',
      text: `The bank debit of ${amount} has been ordered and settles later.`,
    }
  return { title: 'This has been paid', text: `The payment of ${amount} is complete.` }
}

export function unknownPage(): Page {
  const main = html`<h1>There is no such checkout</h1>
<p>The address is wrong, or the sandbox was reset since the checkout began.</p>`
  return { title: 'No such checkout', main }
}
