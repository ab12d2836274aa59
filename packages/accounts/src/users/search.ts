import type { PageRequest } from '@plinth/kit/database'
import { pageOf } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import type { Accounts } from '../accounts.ts'
import { listContaining, MIN_CONTAINED } from '../database/contained-names.repository.ts'
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
type UserSearch = {
  q?: string
  contains?: string
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
/** Such matches are scattered over the table, so that each one counted costs more. */
const MAX_COUNTED_PARTS = 1000

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
  const position = positionOf(after, filter)
  const found = await collect(accounts, filter, { after: position, size: page.size })
  const users = found.users.map(({ user }) => summaryOf(user))
  const next = found.more ? cursorOf(found.users.at(-1)?.position) : null
  return { ...pageOf(users, found.total, page), first: !after, last: next === null, next }
}

type Place = { after: Position | undefined; size: number }

async function collect({ db }: Accounts, filter: UserFilter, { after, size }: Place) {
  if (filter.parts) return collectParts(db, filter.parts, filter, { after, size })
  const walks = walksOf(filter)
  const users: Awaited<ReturnType<typeof listMatching>> = []
  for (const walk of walks.slice(after ? walks.indexOf(after.walk) : 0)) {
    const from = after?.walk === walk ? { after } : {}
    const most = size + 1 - users.length
    if (most > 0) users.push(...(await listMatching(db, filter, { walk, most, ...from })))
  }
  const total = await countMatching(db, filter, MAX_COUNTED)
  return { users: users.slice(0, size), more: users.length > size, total }
}

async function collectParts(
  db: Accounts['db'],
  texts: string[],
  filter: UserFilter,
  { after, size }: Place,
) {
  const { users, total } = await listContaining(db, {
    texts,
    filter,
    after: after?.id ?? 0,
    most: size + 1,
    mostCounted: MAX_COUNTED_PARTS,
  })
  const placed = users.map((user) => ({
    user,
    position: { walk: 'parts' as const, key: '', id: user.id },
  }))
  return { users: placed.slice(0, size), more: users.length > size, total }
}

function filterOf(search: UserSearch): UserFilter {
  const { enabled, verified, mfa, role } = search
  const { createdFrom, createdTo, lastSeenFrom, lastSeenTo } = search
  return {
    ...namesOf(search),
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

/** Text too short for the index of parts is a prefix. */
function namesOf({ q = '', contains = '' }: UserSearch): Pick<UserFilter, 'prefixes' | 'parts'> {
  const [begun, contained] = [spellingsOf(q), spellingsOf(contains)]
  if (begun.length > 0 && contained.length > 0)
    throw validationFailed(['contains: cannot be combined with q'])
  if (begun.length > 0) return { prefixes: begun }
  if (contained.length === 0) return {}
  const isShort = contained.some((text) => [...text].length < MIN_CONTAINED)
  return isShort ? { prefixes: contained } : { parts: contained }
}

/**
 * A capital sigma has two lower-case forms, one of them for the end of a word: what is typed may be a whole word or
 * the beginning of a longer one.
 */
function spellingsOf(typed: string): string[] {
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
