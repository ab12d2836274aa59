import { resourceMissing } from '../protocol/errors.ts'
import { readPage } from '../protocol/lists.ts'
import type { Operation } from '../protocol/operation.ts'
import {
  choice,
  createdRange,
  flag,
  list,
  pageable,
  readParameters,
  required,
  text,
} from '../protocol/parameters.ts'
import type { Kind } from '../state/object-kinds.ts'
import { findObject } from '../state/objects.repository.ts'
import { secondsOf } from '../state/sandbox.ts'
import { sumLedger } from './money/ledger.ts'

/** Reads one object of a kind that has no rules of its own. */
export const retrieve =
  (kind: Kind): Operation =>
  async (sandbox, { id, form }) => {
    readParameters(form, {})
    const object = await findObject(sandbox.db, kind, id)
    if (!object) throw resourceMissing(kind, id)
    return object
  }

export const listPaymentIntents: Operation = async (sandbox, { form, path }) => {
  const { customer, created, ...page } = readParameters(form, {
    ...pageable,
    customer: text(),
    created: createdRange,
  })
  return readPage(sandbox, 'payment_intent', path, page, { where: { customer }, created })
}

export const listCharges: Operation = async (sandbox, { form, path }) => {
  const { customer, payment_intent, created, ...page } = readParameters(form, {
    ...pageable,
    customer: text(),
    payment_intent: text(),
    created: createdRange,
  })
  const filter = { where: { customer, payment_intent }, created }
  return readPage(sandbox, 'charge', path, page, filter)
}

export const listBalanceTransactions: Operation = async (sandbox, { form, path }) => {
  const { source, type, currency, created, ...page } = readParameters(form, {
    ...pageable,
    source: text(),
    type: choice(['charge', 'payment', 'refund', 'refund_failure']),
    currency: text(),
    created: createdRange,
  })
  const filter = { where: { source, type, currency }, created }
  return readPage(sandbox, 'balance_transaction', path, page, filter)
}

const EVENT_DAYS = 30

/** Events can be read for thirty days. */
export const listEvents: Operation = async (sandbox, { form, path }) => {
  const given = readParameters(form, {
    ...pageable,
    type: text(),
    types: list(required(text()), 20),
    created: createdRange,
    delivery_success: flag(),
  })
  const oldest = secondsOf(sandbox.clock()) - EVENT_DAYS * 24 * 60 * 60
  const created = { ...given.created, gte: Math.max(given.created?.gte ?? 0, oldest) }
  const types = given.types ?? (given.type === undefined ? undefined : [given.type])
  const filter = { types, created, delivered: given.delivery_success }
  return readPage(sandbox, 'event', path, given, filter)
}

export const retrieveBalance: Operation = async (sandbox, { form }) => {
  readParameters(form, {})
  const sums = [...(await sumLedger(sandbox))]
  const available = sums.map(([currency, amount]) => ({ amount, currency }))
  return { object: 'balance', available, livemode: false, pending: [] }
}
