import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock, Request } from '@plinth/kit'
import { csrfTokenRejected } from './problems.ts'

export const CSRF_COOKIE = 'XSRF-TOKEN'
const CSRF_HEADERS = ['x-xsrf-token', 'x-csrf-token']

const LIFETIME_SECONDS = 3600
// A ceremony takes up to five minutes: a token that is read must outlive it.
const RENEWED_BEFORE_END_SECONDS = 600

export type CsrfTokens = ReturnType<typeof createCsrfTokens>

/**
 * Proves that a ceremony was started by a page that could read an answer of this service. The
 * token is random, dated and signed, so nothing is stored and every node can check it; where the
 * browser also sends its cookie the two must be the same.
 */
export function createCsrfTokens(masterKey: Buffer, clock: Clock) {
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', 'ceremony csrf token', 32))
  const nowSeconds = () => Math.floor(clock().getTime() / 1000)
  const signatureOf = (text: string) => createHmac('sha256', key).update(text).digest()

  function make(): string {
    const text = `${randomBytes(16).toString('base64url')}.${nowSeconds() + LIFETIME_SECONDS}`
    return `${text}.${signatureOf(text).toString('base64url')}`
  }

  function isGood(token: string, remainingSeconds = 0): boolean {
    const [random = '', end = '', signature = '', ...rest] = token.split('.')
    const given = Buffer.from(signature, 'base64url')
    const expected = signatureOf(`${random}.${end}`)
    const signed = given.length === expected.length && timingSafeEqual(given, expected)
    return signed && rest.length === 0 && Number(end) - remainingSeconds > nowSeconds()
  }

  return {
    /** The token this browser already has, or a new one. */
    tokenFor(request: Request): string {
      const held = cookieOf(request)
      return held !== undefined && isGood(held, RENEWED_BEFORE_END_SECONDS) ? held : make()
    },

    /** An `onRequest` hook: a ceremony without the token goes no further. */
    guard: async (request: Request): Promise<void> => {
      const token = CSRF_HEADERS.map((name) => request.headers[name]).find((value) => value)
      const cookie = cookieOf(request)
      const matches = cookie === undefined || cookie === token
      if (typeof token !== 'string' || !matches || !isGood(token)) throw csrfTokenRejected()
    },
  }
}

function cookieOf(request: Request): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const prefix = `${CSRF_COOKIE}=`
  return pairs.find((pair) => pair.startsWith(prefix))?.slice(prefix.length)
}
