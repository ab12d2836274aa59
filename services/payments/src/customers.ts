import { randomUUID } from 'node:crypto'
import { type Payments, requireProvider } from './payments.ts'
import type { Customer, NewCustomer } from './provider/provider.ts'

/** Customers live at the provider only. */
export function createCustomer(
  payments: Payments,
  customer: NewCustomer,
  idempotencyKey: string = randomUUID(),
): Promise<Customer> {
  return requireProvider(payments).createCustomer(customer, `cu1:${idempotencyKey}`)
}

export function readCustomer(payments: Payments, id: string): Promise<Customer> {
  return requireProvider(payments).findCustomer(id)
}
