import {
  type Guard,
  oneOf,
  orNull,
  pageQuery,
  pageReply,
  pageRequest,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { nameInAudit, onDenial } from '@plinth/service-keys'
import type { PaymentGuard, Payments } from '../context.ts'
import { PaymentParams } from '../fields.ts'
import { paymentMissing } from '../problems.ts'
import { PAYMENT_STATUSES } from '../state.ts'
import { PAYMENT_FILTERS, paymentFilterOf } from './filter.ts'
import {
  AUDIT_SORTS,
  PAYMENT_SORTS,
  pageOfAudit,
  pageOfPayments,
  readPayment,
  readTimeline,
  recordDenial,
} from './payments.ts'

const tags = ['Payments']

const text = Type.String()
const uuid = Type.String({ format: 'uuid' })
const amount = Type.Integer({ minimum: 0, description: 'Minor unit of the currency' })

const CheckoutStatus = orNull(oneOf('OPEN', 'COMPLETE', 'EXPIRED'))
const Status = oneOf(...PAYMENT_STATUSES)
const Anomalies = Type.Array(text, { description: 'What does not add up; empty is normal' })

const payment = {
  id: uuid,
  businessReference: text,
  providerCustomerId: orNull(text),
  providerCheckoutSessionId: orNull(text),
  providerPaymentIntentId: orNull(text),
  checkoutAttemptReference: orNull(text),
  checkoutStatus: CheckoutStatus,
  amount,
  refundedAmount: amount,
  currency: Type.String({ examples: ['eur'] }),
  status: Status,
  createdAt: timestamp(),
  updatedAt: timestamp(),
}

const PaymentReply = Type.Object(payment, { title: 'Payment' })

const ListedPayment = Type.Object({ ...payment, anomalies: Anomalies }, { title: 'ListedPayment' })

const PaymentQuery = pageQuery(PAYMENT_SORTS, PAYMENT_FILTERS)

const TimelineReply = Type.Object(
  {
    paymentId: uuid,
    status: Status,
    checkoutStatus: CheckoutStatus,
    explanation: Type.String({ description: 'Why the status is what it is' }),
    anomalies: Anomalies,
    refundableAmount: amount,
    nextCheckAt: orNull(timestamp()),
    attempts: Type.Array(
      Type.Object({
        sequence: Type.Integer(),
        reference: text,
        state: text,
        sessionId: orNull(text),
        paymentIntentId: orNull(text),
        expiresAt: orNull(timestamp()),
        url: orNull(text),
      }),
    ),
    refunds: Type.Array(
      Type.Object({
        id: text,
        paymentIntentId: orNull(text),
        amount,
        status: text,
        reason: orNull(text),
      }),
    ),
    observations: Type.Array(
      Type.Object({
        paymentId: orNull(uuid),
        at: timestamp(),
        source: text,
        kind: text,
        subject: orNull(text),
        eventId: orNull(text),
        note: orNull(text),
        anomaly: orNull(text),
        statusBefore: orNull(text),
        statusAfter: orNull(text),
      }),
    ),
  },
  { title: 'Timeline' },
)

const AuditReply = Type.Object(
  {
    id: Type.Integer(),
    at: timestamp(),
    event: Type.String({ examples: ['SERVICE_KEY_CREATED'] }),
    actor: orNull(text),
    subject: orNull(text),
    address: orNull(text),
    requestId: orNull(text),
  },
  { title: 'AuditEvent' },
)

const ConfigurationReply = Type.Object(
  { providerApiConfigured: Type.Boolean(), webhookConfigured: Type.Boolean() },
  { title: 'Configuration' },
)

type Configuration = { secretKey?: string; webhookSecrets: string[] }

/** Shows whether the secrets are configured, and nothing else about them. */
export function configurationRoute(server: Server, { secretKey, webhookSecrets }: Configuration) {
  const providerApiConfigured = secretKey !== undefined
  const webhookConfigured = webhookSecrets.length > 0
  server.get('/api/configuration', {
    schema: {
      operationId: 'configuration',
      summary: 'Whether the secrets are configured, and nothing else about them',
      tags: ['Operations'],
      response: { 200: ConfigurationReply },
    },
    handler: () => ({ providerApiConfigured, webhookConfigured }),
  })
}

export function paymentRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
  server.get('/api/payments/:id', {
    schema: {
      operationId: 'payment',
      summary: 'A payment, as last seen; the provider is not called',
      tags,
      params: PaymentParams,
      response: { 200: PaymentReply },
      problems: [paymentMissing],
    },
    onRequest: guard.read,
    handler: ({ params }) => readPayment(payments, params.id.toLowerCase()),
  })
}

/** For operators; outside the sandbox only with `PAYMENTS_OPERATIONS`. */
export function paymentOperationRoutes(server: Server, payments: Payments, guard: PaymentGuard) {
  server.get('/api/payments', {
    schema: {
      operationId: 'payments',
      summary: 'All payments',
      tags,
      readsQuery: PaymentQuery,
      response: { 200: pageReply(ListedPayment, 'PageOfPayments') },
    },
    onRequest: guard.operate,
    handler: ({ query }) =>
      pageOfPayments(payments, paymentFilterOf(query), pageRequest(query, PAYMENT_SORTS)),
  })

  server.get('/api/payments/:id/timeline', {
    schema: {
      operationId: 'timeline',
      summary: 'Everything observed about a payment, in order',
      tags,
      params: PaymentParams,
      response: { 200: TimelineReply },
      problems: [paymentMissing],
    },
    onRequest: guard.operate,
    handler: ({ params }) => readTimeline(payments, params.id.toLowerCase()),
  })

  server.get('/api/audit', {
    schema: {
      operationId: 'audit',
      summary: 'Refunds, denied access and changes to service keys; newest first',
      tags: ['Operations'],
      readsQuery: pageQuery(AUDIT_SORTS),
      response: { 200: pageReply(AuditReply, 'PageOfAuditEvents') },
    },
    onRequest: guard.operate,
    handler: ({ query }) => pageOfAudit(payments, pageRequest(query, AUDIT_SORTS)),
  })
}

/** Wraps the guards so that the audit records the callers they deny. */
export function recordDenials<T extends Record<string, Guard>>(payments: Payments, guards: T): T {
  const recorded = (guard: Guard) =>
    onDenial(guard, ({ caller, method, routeOptions, ip, id }) => {
      const subject = `${method} ${routeOptions.url}`
      const by = { callerId: caller.userId, actor: nameInAudit(caller) }
      return recordDenial(payments, { ...by, subject, address: ip, requestId: id })
    })
  const entries = Object.entries(guards).map(([name, guard]) => [name, recorded(guard)])
  return Object.fromEntries(entries) as T
}
