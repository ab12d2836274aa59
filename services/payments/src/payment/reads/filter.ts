import { lookUpText, oneOf, Type, textIn } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import type { PaymentFilter } from '../database/payments.repository.ts'
import { PAYMENT_STATUSES, type PaymentStatus } from '../state.ts'

const moment = Type.String({
  examples: ['2030-01-01'],
  description: 'A date, or a time such as 2030-01-01T12:00:00Z',
})
const amount = Type.Integer({ minimum: 0, description: 'Minor unit of the currency' })

/** The parameters that `paymentFilterOf` reads, for the API document. */
export const PAYMENT_FILTERS = {
  businessReference: Type.Optional(lookUpText()),
  contains: Type.Optional(
    lookUpText({
      description:
        'The business reference, or a part of one of the newest 10,000 payments, in any case',
    }),
  ),
  status: Type.Optional(oneOf(...PAYMENT_STATUSES)),
  createdFrom: Type.Optional(moment),
  createdTo: Type.Optional(moment),
  amountFrom: Type.Optional(amount),
  amountTo: Type.Optional(amount),
}

/** Reads what a list of payments is filtered by; refuses what is not a status, a time or an amount. */
export function paymentFilterOf(query: unknown): PaymentFilter {
  const faults: string[] = []
  const read = <T>(name: string, parse: (text: string) => T | undefined, rule: string) => {
    const text = textIn(query, name)
    const value = text === undefined ? undefined : parse(text)
    if (text !== undefined && value === undefined) faults.push(`${name}: ${rule}`)
    return value
  }
  const filter: PaymentFilter = {
    businessReference: textIn(query, 'businessReference'),
    contains: textIn(query, 'contains'),
    status: read('status', statusOf, `must be one of ${PAYMENT_STATUSES.join(', ')}`),
    createdFrom: read('createdFrom', instantOf, NO_TIME),
    createdTo: read('createdTo', instantOf, NO_TIME),
    amountFrom: read('amountFrom', wholeNumber, NO_AMOUNT),
    amountTo: read('amountTo', wholeNumber, NO_AMOUNT),
  }
  if (faults.length > 0) throw validationFailed(faults)
  return filter
}

const NO_TIME = 'must be a date, or a time such as 2030-01-01T12:00:00Z'
const NO_AMOUNT = 'must be a whole number of minor units'

function statusOf(text: string): PaymentStatus | undefined {
  return PAYMENT_STATUSES.find((status) => status === text)
}

/** The stored format, because times are compared as text. A day that a month lacks would become a later one. */
function instantOf(text: string): string | undefined {
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z)?$/.test(text)) return undefined
  const instant = new Date(text)
  if (Number.isNaN(instant.getTime())) return undefined
  const stored = instant.toISOString()
  return stored.startsWith(text.slice(0, 10)) ? stored : undefined
}

function wholeNumber(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
