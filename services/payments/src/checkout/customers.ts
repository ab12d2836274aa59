import { randomUUID } from 'node:crypto'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import { type Payments, requireProvider } from '../payment/context.ts'
import { providerFailed, providerResourceMissing } from '../provider/problems.ts'
import type { Customer, CustomerPage, CustomerQuery, NewCustomer } from '../provider/provider.ts'

type CallerKey = { callerId: string; idempotencyKey: string | undefined }

/** Customers live at the provider only. */
export function createCustomer(
  payments: Payments,
  customer: NewCustomer,
  { callerId, idempotencyKey = randomUUID() }: CallerKey,
): Promise<Customer> {
  // Two callers who choose the same key must not get each other's customer.
  const scope = callerId === '' ? '' : `${hashOpaqueToken(callerId)}:`
  const key = `cu1:${scope}${idempotencyKey}`
  const created = requireProvider(payments).createCustomer(customer, key)
  return created.catch((error) => {
    // The request refers to no other object, so nothing can be missing.
    throw providerResourceMissing.is(error) ? providerFailed({ cause: error }) : error
  })
}

/** The provider can list all customers, or those with one e-mail address. */
export function pageOfCustomers(payments: Payments, query: CustomerQuery): Promise<CustomerPage> {
  return requireProvider(payments).listCustomers(query)
}

export function readCustomer(payments: Payments, id: string): Promise<Customer> {
  return requireProvider(payments).findCustomer(id)
}
