import {
  lookUpText,
  moment,
  momentIn,
  oneOf,
  Type,
  textIn,
  wholeNumber,
  wholeNumberIn,
} from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import type { PaymentFilter } from '../database/payments.repository.ts'
import { PAYMENT_STATUSES, type PaymentStatus } from '../state.ts'

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
  createdFrom: Type.Optional(moment('Inclusive')),
  createdTo: Type.Optional(moment('Exclusive')),
  amountFrom: Type.Optional(wholeNumber('Minor unit of the currency')),
  amountTo: Type.Optional(wholeNumber('Minor unit of the currency')),
}

/** Reads what a list of payments is filtered by; refuses what is not a status, a time or an amount. */
export function paymentFilterOf(query: unknown): PaymentFilter {
  return {
    businessReference: textIn(query, 'businessReference'),
    contains: textIn(query, 'contains'),
    status: statusIn(query),
    createdFrom: momentIn(query, 'createdFrom'),
    createdTo: momentIn(query, 'createdTo'),
    amountFrom: wholeNumberIn(query, 'amountFrom'),
    amountTo: wholeNumberIn(query, 'amountTo'),
  }
}

function statusIn(query: unknown): PaymentStatus | undefined {
  const text = textIn(query, 'status')
  const status = PAYMENT_STATUSES.find((one) => one === text)
  if (text !== undefined && !status)
    throw validationFailed([`status: must be one of ${PAYMENT_STATUSES.join(', ')}`])
  return status
}
