import { resourceMissing } from '../protocol/errors.ts'
import { readPage } from '../protocol/lists.ts'
import type { Operation } from '../protocol/operation.ts'
import {
  createdRange,
  email,
  mergeMetadata,
  metadata,
  pageable,
  readParameters,
  text,
} from '../protocol/parameters.ts'
import type { Customer, DeletedCustomer } from '../state/object-kinds.ts'
import { findObject, insertObject, updateObject } from '../state/objects.repository.ts'
import { type Sandbox, secondsOf } from '../state/sandbox.ts'
import { newId } from '../state/seeded.ts'
import { recordEvent } from './webhooks/events.ts'

const fields = {
  email: email(),
  name: text({ max: 256 }),
  description: text(),
  phone: text({ max: 20 }),
  metadata: metadata(),
}

export const createCustomer: Operation = async (sandbox, { form }) => {
  const given = readParameters(form, fields)
  const customer: Customer = {
    id: await newId(sandbox, 'cus', 14),
    object: 'customer',
    balance: 0,
    created: secondsOf(sandbox.clock()),
    currency: null,
    default_source: null,
    delinquent: false,
    description: given.description ?? null,
    email: given.email ?? null,
    invoice_settings: { custom_fields: null, default_payment_method: null, footer: null },
    livemode: false,
    metadata: mergeMetadata({}, given.metadata),
    name: given.name ?? null,
    phone: given.phone ?? null,
    preferred_locales: [],
    shipping: null,
    tax_exempt: 'none',
  }
  await insertObject(sandbox.db, customer)
  await recordEvent(sandbox, 'customer.created', customer)
  return customer
}

/** A deleted customer is answered too, as what is left of it. */
export const retrieveCustomer: Operation = async (sandbox, { id }) => {
  const customer = await findObject(sandbox.db, 'customer', id)
  if (!customer) throw resourceMissing('customer', id)
  return customer
}

export const updateCustomer: Operation = async (sandbox, { id, form }) => {
  const given = readParameters(form, fields)
  const customer = await requireCustomer(sandbox, id, 'id')
  const { metadata: entries, ...changed } = given
  const present = Object.entries(changed).filter(([, value]) => value !== undefined)
  const updated: Customer = {
    ...customer,
    ...Object.fromEntries(present),
    metadata: mergeMetadata(customer.metadata, entries),
  }
  await updateObject(sandbox.db, updated)
  await recordEvent(sandbox, 'customer.updated', updated)
  return updated
}

export const deleteCustomer: Operation = async (sandbox, { id, form }) => {
  readParameters(form, {})
  const customer = await requireCustomer(sandbox, id, 'id')
  const deleted: DeletedCustomer = { id, object: 'customer', deleted: true }
  await updateObject(sandbox.db, deleted)
  await recordEvent(sandbox, 'customer.deleted', customer)
  return deleted
}

export const listCustomers: Operation = async (sandbox, { form, path }) => {
  const { email, created, ...page } = readParameters(form, {
    ...pageable,
    email: text(),
    created: createdRange,
  })
  return readPage(sandbox, 'customer', path, page, { where: { email }, created })
}

/** A customer that can still be used: a deleted one is as good as none. */
export async function requireCustomer(
  sandbox: Sandbox,
  id: string,
  param: string,
): Promise<Customer> {
  const customer = await findObject(sandbox.db, 'customer', id)
  if (!customer || 'deleted' in customer) throw resourceMissing('customer', id, param)
  return customer
}
