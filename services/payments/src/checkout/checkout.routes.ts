import { positiveInteger, type Server, Type } from '@plinth/kit'
import type { Static } from 'typebox'
import type { PaymentGuard, Payments } from '../payment/context.ts'
import {
  currencyCode,
  metadata,
  optionalEmail,
  optionalPlainText,
  plainText,
  reference,
  textOrNull,
} from '../payment/fields.ts'
import { openCheckout } from './checkout.ts'
import type { CheckoutRequest } from './plan.ts'

const CheckoutBody = Type.Object({
  amount: positiveInteger(),
  currency: currencyCode(),
  description: plainText(255),
  businessReference: reference(),
  attemptReference: reference(),
  customerEmail: optionalEmail(),
  providerCustomerId: optionalPlainText(255),
  metadata: metadata(48),
})

export function checkoutRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
  server.post('/api/checkout/sessions', {
    schema: { body: CheckoutBody },
    onRequest: guard.write,
    handler: ({ body }, reply) => {
      reply.code(201)
      return openCheckout(payments, requestOf(body))
    },
  })
}

function requestOf(body: Static<typeof CheckoutBody>): CheckoutRequest {
  return {
    amount: body.amount,
    currency: body.currency.toLowerCase(),
    description: body.description,
    businessReference: body.businessReference,
    attemptReference: body.attemptReference,
    customerEmail: textOrNull(body.customerEmail)?.trim() ?? null,
    providerCustomerId: textOrNull(body.providerCustomerId)?.trim() ?? null,
    metadata: body.metadata ?? {},
  }
}
