import type { Kind } from '../state/object-kinds.ts'
import { findObject, listObjects, type ObjectFilter } from '../state/objects.repository.ts'
import type { Sandbox } from '../state/sandbox.ts'
import { resourceMissing } from './errors.ts'

type PageOf = { limit?: number; starting_after?: string; ending_before?: string }

export type List<T> = { object: 'list'; data: T[]; has_more: boolean; url: string }

const DEFAULT_LIMIT = 10

/** One page of a list, newest first. One object more than asked tells whether there are others. */
export async function readPage<K extends Kind>(
  sandbox: Sandbox,
  kind: K,
  url: string,
  page: PageOf,
  filter: ObjectFilter = {},
) {
  const limit = page.limit ?? DEFAULT_LIMIT
  for (const name of ['starting_after', 'ending_before'] as const) {
    const id = page[name]
    if (id !== undefined && !(await findObject(sandbox.db, kind, id)))
      throw resourceMissing(kind, id, name)
  }
  const cursor = { after: page.starting_after, before: page.ending_before, limit: limit + 1 }
  const found = await listObjects(sandbox.db, kind, filter, cursor)
  const more = found.length > limit
  const data = page.ending_before !== undefined && more ? found.slice(1) : found.slice(0, limit)
  return listOf(data, url, more)
}

export function listOf<T>(data: T[], url: string, hasMore = false): List<T> {
  return { object: 'list', data, has_more: hasMore, url }
}
