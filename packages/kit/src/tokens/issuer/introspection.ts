import { issuerUnavailable } from '../../problems.ts'
import { type Clock, isAhead, secondsAfter } from '../../runtime/clock.ts'
import { hashOpaqueToken } from '../opaque-token.ts'
import { askIssuer } from './ask.ts'

type IntrospectionOptions = {
  /** The issuer's URL; its endpoint is at `/oauth2/introspect` below. */
  issuer: string
  /** A service key of the issuer with the scope `tokens:introspect`. */
  key: string
  clock: Clock
}

/** The user of an active token, with the current data of the issuer. */
type CurrentUser = { username: string; roles: string[] }

export type Introspection = {
  check(token: string): Promise<CurrentUser | undefined>
  /** Whether a user is enabled, for things that were created with a token that has long expired. */
  isEnabled(userId: string): Promise<boolean>
  /** Users that the issuer has erased, oldest first; `after` is the `next` of the previous page. */
  deletedUsers(after: string | undefined): Promise<DeletedUsers>
}

export type DeletedUsers = { items: { id: string; deletedAt: string }[]; next: string | null }

const KEPT_SECONDS = 10
const MAX_ANSWERS = 1_000

/**
 * Asks the issuer whether a token is still active (RFC 7662), or a user enabled: the session may have
 * ended, the user may have been disabled. An answer is cached for ten seconds, and concurrent requests
 * share one. If the issuer does not answer, requests fail with 503: without an answer nothing is allowed.
 */
export function createIntrospection({ issuer, key, clock }: IntrospectionOptions): Introspection {
  const base = issuer.replace(/\/$/, '')
  const authorization = `Bearer ${key}`
  const users = keptAnswers<CurrentUser | undefined>(clock)
  const enabled = keptAnswers<boolean>(clock)
  return {
    check: (token) =>
      users(hashOpaqueToken(token), () =>
        currentUser(`${base}/oauth2/introspect`, authorization, token),
      ),
    isEnabled: (userId) =>
      enabled(userId, () =>
        enabledUser(`${base}/api/users/${encodeURIComponent(userId)}/status`, authorization),
      ),
    deletedUsers: (after) => {
      const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`
      return erasedUsers(`${base}/api/users/deleted${query}`, authorization)
    },
  }
}

type Answer<T> = { until: Date; answer: Promise<T> }

function keptAnswers<T>(clock: Clock) {
  const answers = new Map<string, Answer<T>>()
  return (name: string, ask: () => Promise<T>): Promise<T> => {
    const known = answers.get(name)
    if (known && isAhead(known.until, KEPT_SECONDS, clock())) return known.answer
    const answer = ask().catch((cause) => {
      answers.delete(name)
      throw issuerUnavailable({ cause })
    })
    answers.delete(name)
    answers.set(name, { until: secondsAfter(clock(), KEPT_SECONDS), answer })
    const [oldest] = answers.size > MAX_ANSWERS ? answers.keys() : []
    if (oldest !== undefined) answers.delete(oldest)
    return answer
  }
}

async function currentUser(
  url: string,
  authorization: string,
  token: string,
): Promise<CurrentUser | undefined> {
  const { status, reply } = await askIssuer(url, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
    body: String(new URLSearchParams({ token })),
  })
  if (status !== 200) throw new Error(`The issuer answered ${status}.`)
  const { active, username, roles } = reply
  if (active === false) return undefined
  if (active !== true || typeof username !== 'string' || !Array.isArray(roles))
    throw new Error("The issuer's answer names no user.")
  return { username, roles: roles.map(String) }
}

/** A user that the issuer does not know has been deleted. */
async function enabledUser(url: string, authorization: string): Promise<boolean> {
  const { status, reply } = await askIssuer(url, { headers: { authorization } })
  if (status === 404 && reply.code === 'USER_NOT_FOUND') return false
  if (status !== 200 || typeof reply.enabled !== 'boolean')
    throw new Error(`The issuer answered ${status} without saying whether the user is enabled.`)
  return reply.enabled
}

async function erasedUsers(url: string, authorization: string): Promise<DeletedUsers> {
  const { status, reply } = await askIssuer(url, { headers: { authorization } })
  const { items, next } = reply
  if (status !== 200 || !Array.isArray(items) || (next !== null && typeof next !== 'string'))
    throw new Error(`The issuer answered ${status} without a list of erased users.`)
  const users = items.map(({ id, deletedAt }) => ({ id: String(id), deletedAt: String(deletedAt) }))
  return { items: users, next }
}
