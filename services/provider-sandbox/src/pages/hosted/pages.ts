import { policySource } from '@plinth/kit/http'
import { formatAmount } from '../../resources/money/currencies.ts'
import { type Behaviour, TEST_ACCOUNTS, TEST_CARDS } from '../../resources/money/payment-methods.ts'
import type { CheckoutSession, LineItem } from '../../state/objects/kinds.ts'
import type { PaymentError, PaymentIntent } from '../../state/objects/money.ts'
import { type Html, html, type Page } from '../layout.ts'

type Checkout = {
  /** The address of this page. */
  path: string
  session: CheckoutSession
  items: LineItem[]
  error: PaymentError | null
  bankDebitSeconds: number
}

export function checkoutPage(checkout: Checkout): Page {
  const { session, error } = checkout
  const amount = formatAmount(session.amount_total, session.currency)
  const methods = session.payment_method_types
  const main = html`
<h1>Pay ${amount}</h1>
${error && html`<p class="notice bad" role="alert"><strong>The payment did not go through.</strong> ${error.message}</p>`}
${itemList(checkout)}
${methods.includes('card') && cardForm(checkout.path, amount)}
${methods.includes('us_bank_account') && bankForm(checkout.path, amount, checkout.bankDebitSeconds)}
${session.cancel_url !== null && html`<p><a href="${session.cancel_url}">Cancel and go back</a></p>`}
<section class="card aside" aria-labelledby="tools">
<h2 id="tools">Sandbox</h2>
<form method="post" action="${checkout.path}/expire"><div><button class="button">Let it expire</button></div></form>
<p class="small soft">This checkout is ${session.id}.</p>
</section>`
  return { title: error ? `Not paid: ${amount}` : `Pay ${amount}`, main }
}

function itemList({ session, items }: Checkout): Html {
  return html`<section class="card" aria-labelledby="items">
<h2 id="items">What you are paying for</h2>
<ul>
${items.map(
  (
    item,
  ) => html`<li class="row apart"><span>${item.description}${item.quantity > 1 && ` × ${item.quantity}`}</span>
<span>${formatAmount(item.amount_total, session.currency)}</span></li>`,
)}
</ul>
${session.customer_email !== null && html`<p class="small soft">A receipt would go to ${session.customer_email}.</p>`}
</section>`
}

function cardForm(path: string, amount: string): Html {
  return html`<form method="post" action="${path}/card" class="card" aria-labelledby="by-card">
<h2 id="by-card">Card</h2>
<div class="field"><label for="number">Card number</label>
<input id="number" name="number" inputmode="numeric" autocomplete="cc-number" required
  maxlength="23" value="4242 4242 4242 4242" aria-describedby="cards"></div>
<div class="pair">
<div class="field"><label for="expiry">Expires (MM/YY)</label>
<input id="expiry" name="expiry" autocomplete="cc-exp" required pattern="\\d\\d ?/ ?\\d\\d" value="12/60"></div>
<div class="field"><label for="cvc">CVC</label>
<input id="cvc" name="cvc" inputmode="numeric" autocomplete="cc-csc" required pattern="\\d{3,4}" value="123"></div>
</div>
<div><button class="button primary">Pay ${amount}</button></div>
${numbers('cards', 'Test cards', TEST_CARDS)}
</form>`
}

function bankForm(path: string, amount: string, seconds: number): Html {
  return html`<form method="post" action="${path}/bank" class="card" aria-labelledby="by-bank">
<h2 id="by-bank">Bank debit</h2>
<p class="small soft" id="later">The money arrives later: in the sandbox, after ${seconds} seconds.</p>
<div class="field"><label for="account">Account number</label>
<input id="account" name="account" inputmode="numeric" required pattern="\\d{4,17}"
  value="000123456789" aria-describedby="later accounts"></div>
<div><button class="button">Pay ${amount} by bank debit</button></div>
${numbers('accounts', 'Test accounts', TEST_ACCOUNTS)}
</form>`
}

function numbers(id: string, title: string, methods: Record<string, Behaviour>): Html {
  return html`<details id="${id}"><summary>${title}</summary>
<ul>${Object.entries(methods).map(
    ([number, { title: outcome }]) => html`<li><code>${number}</code> ${outcome}</li>`,
  )}</ul></details>`
}

/** Where the bank asks the customer to confirm. */
export function challengePage(session: CheckoutSession, path: string): Page {
  const amount = formatAmount(session.amount_total, session.currency)
  const main = html`
<h1>Is it you?</h1>
<p>Your bank asks you to confirm this payment of ${amount}.</p>
<form method="post" action="${path}/challenge" class="card">
<div class="row">
<button class="button primary" name="accepted" value="true">Yes, confirm</button>
<button class="button" name="accepted" value="false">No, refuse</button>
</div>
</form>`
  return { title: 'Your bank asks', main }
}

/** A session that can no longer be paid: how it ended, and a link back to the shop. */
export function finishedPage(session: CheckoutSession, intent?: PaymentIntent): Page {
  const amount = formatAmount(session.amount_total, session.currency)
  const back = returnAddress(session)
  const { title, text } = endingOf(session, intent, amount)
  const main = html`
<h1>${title}</h1>
<p>${text}</p>
${back !== null && html`<p><a class="button primary" href="${back}">Go back to the shop</a></p>`}`
  return { title, main }
}

function endingOf(
  { status, payment_status: paid }: CheckoutSession,
  intent: PaymentIntent | undefined,
  amount: string,
) {
  if (status === 'expired')
    return { title: 'This checkout has expired', text: `Nothing was paid. It was for ${amount}.` }
  if (paid === 'unpaid' && intent?.status !== 'processing')
    return {
      title: 'The bank debit has failed',
      text: `The bank returned the debit of ${amount}. Nothing was paid.`,
    }
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

/** Where the customer goes when the checkout has ended. */
export function returnAddress(session: CheckoutSession): string | null {
  if (session.status !== 'complete') return session.cancel_url
  return session.success_url.replaceAll('{CHECKOUT_SESSION_ID}', session.id)
}

/** Where a form of the hosted page may redirect to, for the page's policy. */
export function returnSources(session: CheckoutSession): string[] {
  return [session.success_url, session.cancel_url].filter((url) => url !== null).map(policySource)
}
