import type { TSchema } from 'typebox'
import type { PageRequest, Sort } from '../database/rows.ts'
import { validationFailed } from '../problems.ts'
import { Type } from './schema.ts'

const DEFAULT_SIZE = 20

const MAX_SIZE = 2000

const MAX_OFFSET = Number.MAX_SAFE_INTEGER

/**
 * Reads `page`, `size` and `sort=property,asc|desc` from a query. Invalid numbers fall back to the
 * default; a property that cannot be sorted by is refused.
 */
export function pageRequest(query: unknown, sortable: readonly string[]): PageRequest {
  const given = (query ?? {}) as Record<string, string | string[] | undefined>
  const size = Math.min(wholeNumber(given.size, 1) ?? DEFAULT_SIZE, MAX_SIZE)
  const asked = wholeNumber(given.page, 0) ?? 0
  const page = asked * size > MAX_OFFSET ? 0 : asked
  const sorts = [given.sort ?? []].flat().filter((sort) => sort.trim() !== '')
  const sort = firstOfEach(sorts.map((text) => sortOf(text, sortable)))
  return { page, size, offset: page * size, sort }
}

/** A property that is named again changes nothing, but a query has room for thousands, and a statement has not. */
function firstOfEach(sorts: Sort[]): Sort[] {
  const named = new Map<string, Sort>()
  for (const sort of sorts) if (!named.has(sort.property)) named.set(sort.property, sort)
  return [...named.values()]
}

/**
 * A filter of a list; blank counts as absent. One that is given twice is refused: ignoring it would list
 * everything. So is NUL, which no stored text contains and PostgreSQL does not accept in a query.
 */
export function textIn(query: unknown, name: string): string | undefined {
  const value = ((query ?? {}) as Record<string, string | string[] | undefined>)[name]
  if (Array.isArray(value)) throw validationFailed([`${name}: must be given only once`])
  if (value?.includes('\0')) throw validationFailed([`${name}: must not contain NUL`])
  return value || undefined
}

/** Without bounds, because none are enforced: the document says in words what a number beyond them means. */
export function pageSize(largest = MAX_SIZE) {
  const larger = `a larger number counts as ${largest}, anything else as ${DEFAULT_SIZE}`
  return Type.Integer({
    default: DEFAULT_SIZE,
    examples: [DEFAULT_SIZE],
    description: `From 1 to ${largest}; ${larger}`,
  })
}

/** The parameters that `pageRequest` reads, for the API document. */
export function pageQuery<T extends Record<string, TSchema>>(
  sortable: readonly string[],
  more?: T,
) {
  const sort = Type.String({
    pattern: `^\\s*((${sortable.join('|')})\\s*(,[\\s\\S]*)?)?$`,
    examples: sortable.length > 0 ? [`${sortable[0]},asc`] : [],
    description: `property,asc or property,desc; one of ${sortable.join(', ')}`,
  })
  return Type.Object({
    page: Type.Optional(
      Type.Integer({ default: 0, examples: [0], description: 'From 0; anything else counts as 0' }),
    ),
    size: Type.Optional(pageSize()),
    ...(sortable.length > 0 && { sort: Type.Optional(Type.Array(sort)) }),
    ...more,
  })
}

function wholeNumber(given: string | string[] | undefined, minimum: number): number | undefined {
  const text = Array.isArray(given) ? given[0] : given
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined
  return Number(text) >= minimum ? Number(text) : undefined
}

function sortOf(text: string, sortable: readonly string[]): Sort {
  const [property = '', direction = 'asc'] = text.split(',').map((part) => part.trim())
  if (sortable.length === 0) throw validationFailed(['sort: this list cannot be sorted'])
  if (!sortable.includes(property))
    throw validationFailed([`sort: must be one of ${sortable.join(', ')}`])
  return { property, direction: direction.toLowerCase() === 'desc' ? 'desc' : 'asc' }
}

const Sorted = Type.Object({
  empty: Type.Boolean(),
  sorted: Type.Boolean(),
  unsorted: Type.Boolean(),
})

/** The schema of what `pageOf` returns; `name` names the component in the API document. */
export function pageReply<T extends TSchema>(item: T, name: string) {
  const count = Type.Integer({ minimum: 0 })
  return Type.Object(
    {
      content: Type.Array(item),
      pageable: Type.Object({
        pageNumber: count,
        pageSize: count,
        offset: count,
        paged: Type.Boolean(),
        unpaged: Type.Boolean(),
        sort: Sorted,
      }),
      last: Type.Boolean(),
      totalPages: count,
      totalElements: count,
      size: count,
      number: count,
      sort: Sorted,
      first: Type.Boolean(),
      numberOfElements: count,
      empty: Type.Boolean(),
      page: Type.Object({ size: count, number: count, totalElements: count, totalPages: count }),
    },
    { title: name },
  )
}

/** The page body that clients of Spring-style services expect. */
export function pageOf<T>(content: T[], totalElements: number, request: PageRequest) {
  const { page: number, size, offset } = request
  const totalPages = Math.ceil(totalElements / size)
  const sorted = request.sort.length > 0
  const sort = { empty: !sorted, sorted, unsorted: !sorted }
  return {
    content,
    pageable: { pageNumber: number, pageSize: size, offset, paged: true, unpaged: false, sort },
    last: number + 1 >= totalPages,
    totalPages,
    totalElements,
    size,
    number,
    sort,
    first: number === 0,
    numberOfElements: content.length,
    empty: content.length === 0,
    page: { size, number, totalElements, totalPages },
  }
}
