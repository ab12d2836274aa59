import type { CheckoutSession } from '../objects/object-kinds.ts'

/** Where the customer goes when the checkout is over. */
export function returnAddress(session: CheckoutSession): string | null {
  if (session.status !== 'complete') return session.cancel_url
  return session.success_url.replaceAll('{CHECKOUT_SESSION_ID}', session.id)
}

/** The places a form of the hosted page may lead to, for the page's policy. */
export function returnOrigins(session: CheckoutSession): string[] {
  return [session.success_url, session.cancel_url]
    .filter((url) => url !== null)
    .map((url) => new URL(url).origin)
}
