import type { PageRequest } from '@plinth/kit/database'
import { pageOf } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import type { Accounts } from '../accounts.ts'
import { normalName } from '../database/names.ts'
import {
  countMatching,
  listMatching,
  type Position,
  type UserFilter,
  walksOf,
} from '../database/user-search.repository.ts'
import { pageOfUsers, summaryOf } from './users.ts'

/** As in the query string, where every value is text. */
export type UserSearch = {
  q?: string
  role?: string
  enabled?: 'true' | 'false'
  verified?: 'true' | 'false'
  createdFrom?: string
  createdTo?: string
  mfa?: 'true' | 'false'
  lastSeenFrom?: string
  lastSeenTo?: string
  after?: string
}

const MAX_COUNTED = 10_000

/**
 * Without a filter, pages through every user, as specified. A search has a fixed order, that of the index
 * it walks, and continues with `after`: a page number would have to skip every row before it.
 */
export async function searchUsers(accounts: Accounts, search: UserSearch, page: PageRequest) {
  const { after, ...wanted } = search
  const filter = filterOf(wanted)
  if (Object.keys(filter).length === 0 && after === undefined) return pageOfUsers(accounts, page)
  if (page.page > 0) throw validationFailed(['page: a search continues with after'])
  if (page.sort.length > 0) throw validationFailed(['sort: a search has a fixed order'])
  const found = await collect(accounts, filter, {
    after: positionOf(after, filter),
    size: page.size,
  })
  const total = await countMatching(accounts.db, filter, MAX_COUNTED)
  const users = found.users.map(({ user }) => summaryOf(user))
  const next = found.more ? cursorOf(found.users.at(-1)?.position) : null
  return { ...pageOf(users, total, page), first: !after, last: next === null, next }
}

async function collect(
  { db }: Accounts,
  filter: UserFilter,
  { after, size }: { after: Position | undefined; size: number },
) {
  const walks = walksOf(filter)
  const users: Awaited<ReturnType<typeof listMatching>> = []
  for (const walk of walks.slice(after ? walks.indexOf(after.walk) : 0)) {
    const from = after?.walk === walk ? { after } : {}
    const most = size + 1 - users.length
    if (most > 0) users.push(...(await listMatching(db, filter, { walk, most, ...from })))
  }
  return { users: users.slice(0, size), more: users.length > size }
}

function filterOf(search: UserSearch): UserFilter {
  const { q, enabled, verified, mfa, role } = search
  const { createdFrom, createdTo, lastSeenFrom, lastSeenTo } = search
  const prefixes = prefixesOf(q ?? '')
  return {
    ...(prefixes.length > 0 && { prefixes }),
    ...(role !== undefined && { role }),
    ...(enabled !== undefined && { enabled: enabled === 'true' }),
    ...(verified !== undefined && { verified: verified === 'true' }),
    ...(mfa !== undefined && { mfa: mfa === 'true' }),
    ...(lastSeenFrom !== undefined && {
      lastSeenFrom: dayOf(instantOf('lastSeenFrom', lastSeenFrom)),
    }),
    ...(lastSeenTo !== undefined && { lastSeenTo: dayOf(instantOf('lastSeenTo', lastSeenTo)) }),
    ...(createdFrom !== undefined && { createdFrom: instantOf('createdFrom', createdFrom) }),
    ...(createdTo !== undefined && { createdTo: instantOf('createdTo', createdTo) }),
  }
}

/**
 * A capital sigma has two lower-case forms, one of them for the end of a word: what is typed may be a whole word or
 * the beginning of a longer one.
 */
function prefixesOf(typed: string): string[] {
  const whole = normalName(typed)
  if (whole === '') return []
  const beginning = normalName(`${typed.trim()}a`).slice(0, -1)
  return [...new Set([whole, beginning])]
}

/** The stored format, because times are compared as text. A day that a month lacks would become a later one. */
function instantOf(field: string, time: string): string {
  const instant = new Date(time)
  const isReal = !Number.isNaN(instant.getTime()) && instant.toISOString().startsWith(dayOf(time))
  if (!isReal) throw validationFailed([`${field}: is not a date or time that exists`])
  return instant.toISOString()
}

function dayOf(time: string): string {
  return time.slice(0, 10)
}

function cursorOf(position: Position | undefined): string | null {
  return position ? Buffer.from(JSON.stringify(position)).toString('base64url') : null
}

/** A cursor belongs to its search: another search may walk another index. */
function positionOf(cursor: string | undefined, filter: UserFilter): Position | undefined {
  if (!cursor) return undefined
  try {
    const { walk, key, id } = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Position
    if (walksOf(filter).includes(walk) && typeof key === 'string' && Number.isSafeInteger(id))
      return { walk, key: key.replaceAll('\0', ''), id }
  } catch {
    // Not a cursor of ours.
  }
  throw validationFailed(['after: is not a cursor of this search'])
}
