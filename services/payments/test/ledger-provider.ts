import { createHmac, timingSafeEqual } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Type } from '@plinth/kit/http'
import type { Problem } from '@plinth/kit/problems'
import { ProviderFailure } from '../src/provider/failures.ts'
import {
  eventMalformed,
  keyReused,
  providerRejected,
  providerResourceMissing,
  signatureMissing,
  signatureRejected,
} from '../src/provider/problems.ts'
import type {
  CheckoutSession,
  Customer,
  DeliveryHeaders,
  PaymentProvider,
  ProviderCalls,
  ProviderEvent,
  Refund,
  SessionState,
} from '../src/provider/provider.ts'
import {
  isName,
  isObject,
  metadataOf,
  parseJson,
  type Raw,
  textOf,
} from '../src/provider/values.ts'

/**
 * A provider of another shape: orders with phases instead of sessions, amounts as decimal text, notes
 * instead of metadata, and a signature over its own header of the time. It lives in memory.
 */
type Order = {
  number: string
  page: string
  phase: 'waiting' | 'settled' | 'lapsed'
  transaction: string | null
  buyer: string | null
  total: string
  notes: Record<string, string>
  madeAt: Date
}

type Repayment = {
  number: string
  transaction: string
  total: string
  notes: Record<string, string>
  why: string | null
}

type Notice = { number: string; what: string; at: Date; body: string }

const SECRET = 'a secret of the ledger'

export function openLedger(clock: () => Date) {
  const orders = new Map<string, Order>()
  const repayments = new Map<string, Repayment>()
  const buyers = new Map<string, Customer>()
  const notices: Notice[] = []
  const keys = new Map<string, { content: unknown; number: string }>()
  let count = 0
  const next = (kind: string) => `${kind}-${++count}`

  const notify = (what: string, content: { order: Order } | { repayment: Repayment }) => {
    const number = next('notice')
    notices.push({ number, what, at: clock(), body: JSON.stringify({ number, what, ...content }) })
  }

  /** The same key and content give the same object; other content is refused. */
  const once = <T>(key: string, content: unknown, known: Map<string, T>, make: () => string): T => {
    const before = keys.get(key)
    if (before && !isDeepStrictEqual(before.content, content)) throw failure(keyReused())
    const number = before?.number ?? make()
    keys.set(key, { content, number })
    return found(known, number)
  }

  const calls: ProviderCalls = {
    createCustomer: async (customer, key) =>
      once(key, customer, buyers, () => {
        const id = next('buyer')
        buyers.set(id, { id, ...customer })
        return id
      }),
    findCustomer: async (id) => found(buyers, id),
    listCustomers: async ({ email, after, size }) => {
      const all = [...buyers.values()].reverse().filter((one) => !email || one.email === email)
      const start = all.findIndex(({ id }) => id === after) + 1
      const customers = all.slice(start, start + size)
      return { customers, next: all[start + size] ? (customers.at(-1)?.id ?? null) : null }
    },
    createSession: async (session, key) =>
      sessionOf(
        once(key, session, orders, () => {
          const { amount, currency, metadata: notes, customerId: buyer } = session
          const number = next('order')
          const page = `https://ledger.example/${number}`
          const [total, madeAt] = [totalOf(amount, currency), clock()]
          const order = { number, page, transaction: null, buyer, total, notes, madeAt }
          orders.set(number, { ...order, phase: 'waiting' })
          return number
        }),
      ),
    findSession: async (id) => sessionOf(found(orders, id)),
    expireSession: async (id) => {
      const order = found(orders, id)
      if (order.phase !== 'waiting') throw failure(providerRejected())
      order.phase = 'lapsed'
      notify('order/lapsed', { order })
      return sessionOf(order)
    },
    async *listSessions(since) {
      for (const order of orders.values()) if (order.madeAt >= since) yield sessionOf(order)
    },
    createRefund: async ({ paymentIntentId: transaction, amount, metadata: notes, reason }, key) =>
      refundOf(
        once(key, { transaction, amount, notes, reason }, repayments, () => {
          const order = [...orders.values()].find((one) => one.transaction === transaction)
          if (!order) throw failure(providerResourceMissing())
          const back = [...repayments.values()].filter((one) => one.transaction === transaction)
          const taken = back.reduce((sum, one) => sum + amountOf(one.total).amount, 0)
          const { amount: paid, currency } = amountOf(order.total)
          if (taken + amount > paid) throw failure(providerRejected())
          const number = next('repayment')
          const total = totalOf(amount, currency)
          const repayment = { number, transaction, total, notes, why: reason }
          repayments.set(number, repayment)
          notify('repayment/done', { repayment })
          return number
        }),
      ),
    findRefund: async (id) => refundOf(found(repayments, id)),
    listRefunds: async (intent) =>
      [...repayments.values()].filter((one) => one.transaction === intent).map(refundOf),
    listEvents: async ({ from, to }) => ({
      events: notices
        .filter(({ at }) => at >= from && at <= to)
        .map(({ number: id, what: type, body }) => ({ id, type, body, event: readNotice(body) })),
      next: null,
      cutShort: false,
    }),
  }

  const provider: PaymentProvider = {
    calls,
    deliveries: {
      description: 'The ledger signs the time and the bytes.',
      signatureHeader: 'X-Ledger-Mac',
      exampleType: 'order/settled',
      bodies: { 'application/json': Type.Object({}, { title: 'Notice' }) },
    },
    checkDelivery: (headers) => {
      if (!headers['x-ledger-mac']) throw signatureMissing('X-Ledger-Mac')()
    },
    readDelivery: (bytes, headers, now) => {
      if (!isGenuine(bytes, headers, now)) throw signatureRejected()
      const { body } = parseJson(bytes)
      return { event: readNotice(body), body }
    },
    readStored: readNotice,
  }

  return {
    provider,
    pay: async (id: string) => {
      const order = found(orders, id)
      Object.assign(order, { phase: 'settled', transaction: next('transaction') })
      notify('order/settled', { order })
    },
    deliveries: async () =>
      notices.map(({ body }) => {
        const time = clock().toISOString()
        const mac = macOf(Buffer.from(body), time).toString('base64')
        const headers = {
          'content-type': ['application/json'],
          'x-ledger-time': [time],
          'x-ledger-mac': [mac],
        }
        return { bytes: Buffer.from(body), headers }
      }),
  }
}

function found<T>(known: Map<string, T>, number: string): T {
  const object = known.get(number)
  if (!object) throw failure(providerResourceMissing())
  return object
}

function failure(problem: Problem): ProviderFailure {
  return new ProviderFailure(problem, { tries: 1 })
}

function macOf(bytes: Uint8Array, time: string): Buffer {
  return createHmac('sha256', SECRET).update(`${time}\n`).update(bytes).digest()
}

const TOLERANCE_MS = 300_000

function isGenuine(bytes: Uint8Array, headers: DeliveryHeaders, now: Date): boolean {
  const [macs = [], [time = ''] = []] = [headers['x-ledger-mac'], headers['x-ledger-time']]
  const mac = Buffer.from(macs.length === 1 ? (macs[0] ?? '') : '', 'base64')
  const expected = macOf(bytes, time)
  const isSame = mac.length === expected.length && timingSafeEqual(mac, expected)
  return isSame && Math.abs(now.getTime() - Date.parse(time)) <= TOLERANCE_MS
}

function readNotice(body: string): ProviderEvent {
  const raw: unknown = JSON.parse(body)
  if (!isObject(raw) || !isName(raw.number) || !isName(raw.what)) throw eventMalformed()
  const { number: id, what: type, order, repayment } = raw
  if (isObject(order))
    return { id, type, about: { kind: 'session', session: sessionOf(order) }, ...notesOf(order) }
  if (isObject(repayment))
    return {
      id,
      type,
      about: { kind: 'refund', refund: refundOf(repayment) },
      ...notesOf(repayment),
    }
  return { id, type, about: { kind: 'other' }, metadata: {} }
}

const notesOf = ({ notes }: Raw) => ({ metadata: metadataOf(notes) })

const STATES: Record<string, SessionState> = { settled: 'paid', lapsed: 'expired' }

function sessionOf(order: Raw): CheckoutSession {
  return {
    id: textOf(order.number) ?? '',
    url: order.phase === 'waiting' ? textOf(order.page) : null,
    state: STATES[textOf(order.phase) ?? ''] ?? 'open',
    paymentIntentId: textOf(order.transaction),
    customerId: textOf(order.buyer),
    ...amountOf(order.total),
    expiresAt: null,
    ...notesOf(order),
  }
}

function refundOf(repayment: Raw): Refund {
  return {
    id: textOf(repayment.number) ?? '',
    paymentIntentId: textOf(repayment.transaction),
    ...amountOf(repayment.total),
    status: 'succeeded',
    reason: textOf(repayment.why),
    ...notesOf(repayment),
  }
}

/** `10.00 EUR` */
function totalOf(amount: number, currency: string): string {
  return `${(amount / 100).toFixed(2)} ${currency.toUpperCase()}`
}

function amountOf(total: unknown): { amount: number; currency: string } {
  const [value = '', currency = ''] = String(total).split(' ')
  return { amount: Math.round(Number(value) * 100), currency: currency.toLowerCase() }
}
