import { isName } from './events.ts'
import { isObject } from './objects.ts'
import { providerFailed } from './problems.ts'

export const PAGE_SIZE = 100

type Page<T> = { data: T[]; has_more: boolean }
type Cursor = { limit: number; starting_after?: string }

/** Everything in a list, page after page. */
export async function* pagesOf<T extends { id: string }>(
  fetchPage: (cursor: Cursor) => Promise<Page<T>>,
): AsyncGenerator<T> {
  let cursor: Cursor = { limit: PAGE_SIZE }
  while (true) {
    const page = await fetchPage(cursor)
    yield* page.data
    const last = page.data.at(-1)
    if (!page.has_more || !last || last.id === cursor.starting_after) return
    cursor = { limit: PAGE_SIZE, starting_after: last.id }
  }
}

/** The last id that can be kept. What follows it comes again with the next page, and is known then. */
export function lastIdOf(data: unknown[]): string | null {
  if (data.length === 0) throw providerFailed()
  const ids = data.map((item) => (isObject(item) ? item.id : undefined))
  return ids.findLast(isName) ?? null
}
