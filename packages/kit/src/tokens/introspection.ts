import { issuerUnavailable } from '../problems.ts'
import { type Clock, secondsAfter } from '../runtime/clock.ts'
import { hashOpaqueToken } from './opaque-token.ts'

type IntrospectionOptions = {
  /** Its endpoint is at `/oauth2/introspect` below. */
  issuer: string
  /** A service key of the issuer with the scope `tokens:introspect`. */
  key: string
  clock: Clock
}

/** The user of a token that is in force, as the issuer knows it now. */
export type CurrentUser = { username: string; roles: string[] }

export type Introspection = { check(token: string): Promise<CurrentUser | undefined> }

type Answer = { until: Date; user: Promise<CurrentUser | undefined> }

const KEPT_SECONDS = 10
const MOST_ANSWERS = 1_000
const TIMEOUT_MS = 3_000
const LONGEST_REPLY_BYTES = 64 * 1024

/**
 * Asks the issuer whether a token is still in force (RFC 7662): its session may have ended, its user
 * may have been disabled. An answer is kept for ten seconds; requests at the same time share one. An
 * issuer that does not answer is 503: a token is never accepted because nothing is known against it.
 */
export function createIntrospection({ issuer, key, clock }: IntrospectionOptions): Introspection {
  const url = `${issuer.replace(/\/$/, '')}/oauth2/introspect`
  const answers = new Map<string, Answer>()

  function ask(token: string, name: string): Promise<CurrentUser | undefined> {
    const user = currentUser(url, key, token).catch((cause) => {
      answers.delete(name)
      throw issuerUnavailable({ cause })
    })
    answers.delete(name)
    answers.set(name, { until: secondsAfter(clock(), KEPT_SECONDS), user })
    const [oldest] = answers.size > MOST_ANSWERS ? answers.keys() : []
    if (oldest !== undefined) answers.delete(oldest)
    return user
  }

  return {
    check(token) {
      const name = hashOpaqueToken(token)
      const known = answers.get(name)
      return known && clock() < known.until ? known.user : ask(token, name)
    },
  }
}

async function currentUser(
  url: string,
  key: string,
  token: string,
): Promise<CurrentUser | undefined> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: new URLSearchParams({ token }),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const text = await boundedText(response)
  if (response.status !== 200) throw new Error(`The issuer answered ${response.status}.`)
  const { active, username, roles } = JSON.parse(text)
  if (active === false) return undefined
  if (active !== true || typeof username !== 'string' || !Array.isArray(roles))
    throw new Error('The answer of the issuer names no user.')
  return { username, roles: roles.map(String) }
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > LONGEST_REPLY_BYTES) throw new Error('The answer of the issuer is too large.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
