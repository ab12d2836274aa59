import { resourceMissing } from '../protocol/errors.ts'
import type { Operation } from '../protocol/operations.ts'
import * as read from '../protocol/parameters.ts'
import { CUSTOMER, type Customer, type DeletedCustomer } from '../state/objects/kinds.ts'
import { mergeMetadata } from '../state/objects/members.ts'
import { findObject, insertObject, updateObject } from '../state/objects/objects.repository.ts'
import type { Sandbox } from '../state/sandbox.ts'
import { newObject } from '../state/seeded.ts'
import { changeObject, recordEvent } from './webhooks/events.ts'

const fields = {
  email: read.emptyable(read.email()),
  name: read.emptyable(read.text({ max: 256 })),
  description: read.emptyable(read.text()),
  phone: read.emptyable(read.text({ max: 20 })),
  metadata: read.metadata(),
}

export const createCustomer: Operation = async (sandbox, { form }) => {
  const given = read.parameters(form, fields)
  const { description = null, email = null, name = null, phone = null } = given
  const customer: Customer = {
    ...(await newObject(sandbox, 'cus', 14)),
    ...CUSTOMER,
    description,
    email,
    metadata: mergeMetadata({}, given.metadata),
    name,
    phone,
  }
  await insertObject(sandbox.db, customer)
  await recordEvent(sandbox, 'customer.created', customer)
  return customer
}

export const updateCustomer: Operation = async (sandbox, { id, form }) => {
  const { metadata: entries, ...given } = read.parameters(form, fields)
  const customer = await requireCustomer(sandbox, id, 'id')
  const changed = Object.entries(given).filter(([, value]) => value !== undefined)
  const updated: Customer = {
    ...customer,
    ...Object.fromEntries(changed),
    metadata: read.changedMetadata(customer.metadata, entries),
  }
  await changeObject(sandbox, updated, 'customer.updated')
  return updated
}

export const deleteCustomer: Operation = async (sandbox, { id, form }) => {
  read.parameters(form, {})
  const customer = await requireCustomer(sandbox, id, 'id')
  const deleted: DeletedCustomer = { id, object: 'customer', deleted: true }
  await updateObject(sandbox.db, deleted)
  await recordEvent(sandbox, 'customer.deleted', customer)
  return deleted
}

/** A customer that can still be used: a deleted one can only be retrieved. */
export async function requireCustomer(
  sandbox: Sandbox,
  id: string,
  param: string,
): Promise<Customer> {
  const customer = await findObject(sandbox.db, 'customer', id)
  if (!customer || 'deleted' in customer) throw resourceMissing('customer', id, param)
  return customer
}
