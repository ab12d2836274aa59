import type { Kind, ObjectKinds } from '../state/objects/kinds.ts'
import { findObject, listObjects, type ObjectFilter } from '../state/objects/objects.repository.ts'
import type { Sandbox } from '../state/sandbox.ts'
import { resourceMissing } from './errors.ts'
import type { Form } from './form.ts'
import * as read from './parameters.ts'

/** One authenticated and parsed call of the provider's API, without `expand`. */
type Call = { id: string; form: Form; path: string }

/**
 * What one endpoint does: it checks its parameters, then works in a transaction that is already
 * open, and returns the object to answer with.
 */
export type Operation = ((sandbox: Sandbox, call: Call) => Promise<object>) & {
  /** Runs before the transaction: for what waits for another server, while other calls are answered. */
  before?: (sandbox: Sandbox, call: Call) => Promise<void>
}

/** The operation that reads one object. */
export function retrieving(kind: Kind): Operation {
  return async (sandbox, { id, form }) => {
    read.parameters(form, {})
    return requireObject(sandbox, kind, id)
  }
}

export async function requireObject<K extends Kind>(
  sandbox: Sandbox,
  kind: K,
  id: string,
): Promise<ObjectKinds[K]> {
  const object = await findObject(sandbox.db, kind, id)
  if (!object) throw resourceMissing(kind, id)
  return object
}

/** An object that another one names. If it is missing, that is a bug and not a refusal. */
export async function linkedObject<K extends Kind>(
  sandbox: Sandbox,
  kind: K,
  id: string | null,
): Promise<ObjectKinds[K]> {
  const object = await findObject(sandbox.db, kind, id ?? '')
  if (!object) throw new Error(`The ${kind} ${id} is missing.`)
  return object
}

/** Accepted by every list. */
export const pageable = {
  limit: read.integer({ min: 1, max: 100 }),
  starting_after: read.text(),
  ending_before: read.text(),
}

export type Page = { limit?: number; starting_after?: string; ending_before?: string }

/** The operation that lists objects. A caller may filter by the value of each of `members`. */
export function listing(
  kind: Kind,
  members: Record<string, read.Reader<string | undefined>>,
): Operation {
  return async (sandbox, { form, path }) => {
    const shape = { ...members, ...pageable, created: read.createdRange }
    const { limit, starting_after, ending_before, created, ...where } = read.parameters(form, shape)
    const page = { limit, starting_after, ending_before }
    return readPage(sandbox, kind, path, page, { where, created })
  }
}

export const DEFAULT_LIMIT = 10

/** One page, newest first. Reads one object more than requested, to see whether there are more. */
export async function readPage(
  sandbox: Sandbox,
  kind: Kind,
  url: string,
  page: Page,
  filter: ObjectFilter = {},
): Promise<List<object>> {
  const { limit = DEFAULT_LIMIT, starting_after: after, ending_before: before } = page
  for (const [name, id] of Object.entries({ starting_after: after, ending_before: before }))
    if (id !== undefined && !(await findObject(sandbox.db, kind, id)))
      throw resourceMissing(kind, id, name)
  const cursor = { after, before, limit: limit + 1 }
  const found = await listObjects(sandbox.db, kind, filter, cursor)
  const more = found.length > limit
  return listOf(before !== undefined && more ? found.slice(1) : found.slice(0, limit), url, more)
}

export type List<T> = { object: 'list'; data: T[]; has_more: boolean; url: string }

export function listOf<T>(data: T[], url: string, hasMore = false): List<T> {
  return { object: 'list', data, has_more: hasMore, url }
}
