import { randomUUID } from 'node:crypto'
import { type Payments, requireProvider } from '../payment/context.ts'
import { providerFailed, providerResourceMissing } from '../provider/problems.ts'
import type { Customer, NewCustomer } from '../provider/provider.ts'

/** Customers live at the provider only. */
export function createCustomer(
  payments: Payments,
  customer: NewCustomer,
  idempotencyKey: string = randomUUID(),
): Promise<Customer> {
  const created = requireProvider(payments).createCustomer(customer, `cu1:${idempotencyKey}`)
  return created.catch((error) => {
    // Nothing in the request names anything that could be missing.
    throw providerResourceMissing.is(error) ? providerFailed({ cause: error }) : error
  })
}

export function readCustomer(payments: Payments, id: string): Promise<Customer> {
  return requireProvider(payments).findCustomer(id)
}
