import { positiveInteger, type Server, Type } from '@plinth/kit/http'
import type { Static } from 'typebox'
import type { PaymentGuard, Payments } from '../payment/context.ts'
import {
  currencyCode,
  metadata,
  metadataOrNone,
  optionalEmail,
  optionalPlainText,
  plainText,
  reference,
  textOrNull,
} from '../payment/fields.ts'
import {
  attemptProcessing,
  attemptReferenceSpent,
  paymentBusy,
  paymentDiffers,
  paymentSettled,
  providerNotConfigured,
  returnUrlNotAllowed,
} from '../payment/problems.ts'
import { CALL_PROBLEMS, providerInconsistent } from '../provider/problems.ts'
import { openCheckout } from './checkout.ts'
import type { CheckoutRequest } from './plan.ts'

const CheckoutBody = Type.Object(
  {
    amount: positiveInteger(),
    currency: currencyCode(),
    description: plainText(255, { examples: ['A chair'] }),
    businessReference: reference({
      examples: ['order-17'],
      description: 'Your name for the payment, the same for every attempt',
    }),
    attemptReference: reference({ examples: ['attempt-1'] }),
    customerEmail: optionalEmail(),
    providerCustomerId: optionalPlainText(255),
    metadata: metadata(48),
    successUrl: optionalPlainText(2048),
    cancelUrl: optionalPlainText(2048),
  },
  {
    title: 'CheckoutRequest',
    examples: [
      {
        amount: 4900,
        currency: 'eur',
        description: 'A chair',
        businessReference: 'order-17',
        attemptReference: 'attempt-1',
        customerEmail: 'ada@example.com',
      },
    ],
  },
)

const CheckoutReply = Type.Object(
  {
    paymentId: Type.String({ format: 'uuid' }),
    checkoutSessionId: Type.String({ examples: ['cs_test_a1b2c3'] }),
    checkoutUrl: Type.String({ description: 'Where to send the customer', format: 'uri' }),
  },
  { title: 'CheckoutSession' },
)

export function checkoutRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
  server.post('/api/checkout/sessions', {
    schema: {
      operationId: 'checkOut',
      summary: 'Open a checkout for a payment, or get the open one again',
      tags: ['Checkout'],
      body: CheckoutBody,
      response: { 201: CheckoutReply },
      problems: [
        returnUrlNotAllowed,
        paymentDiffers,
        paymentSettled,
        attemptProcessing,
        attemptReferenceSpent,
        paymentBusy,
        providerNotConfigured,
        providerInconsistent,
        ...CALL_PROBLEMS,
      ],
    },
    onRequest: guard.write,
    handler: ({ body }) => openCheckout(payments, requestOf(body)),
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
    metadata: metadataOrNone(body.metadata),
    successUrl: textOrNull(body.successUrl)?.trim() ?? null,
    cancelUrl: textOrNull(body.cancelUrl)?.trim() ?? null,
  }
}
