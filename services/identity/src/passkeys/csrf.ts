import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Clock, HOUR_SECONDS } from '@plinth/kit/runtime'
import { csrfTokenRejected } from './problems.ts'

const LIFETIME_SECONDS = HOUR_SECONDS
// A ceremony takes up to five minutes, and its token must outlive it.
const RENEWED_BEFORE_END_SECONDS = 600

export type CsrfTokens = ReturnType<typeof createCsrfTokens>

/**
 * Proves that a ceremony was started by a page that could read a reply of this service. The token is
 * random, dated and signed, so nothing is stored and every node can check it. If the browser also sends
 * the cookie, the two must be equal.
 */
export function createCsrfTokens(masterKey: Buffer, clock: Clock) {
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', 'ceremony csrf token', 32))
  const nowSeconds = () => Math.floor(clock().getTime() / 1000)
  const signatureOf = (text: string) => createHmac('sha256', key).update(text).digest()

  function create(): string {
    const text = `${randomBytes(16).toString('base64url')}.${nowSeconds() + LIFETIME_SECONDS}`
    return `${text}.${signatureOf(text).toString('base64url')}`
  }

  function isValid(token: string, remainingSeconds = 0): boolean {
    const [random = '', end = '', signature = '', ...rest] = token.split('.')
    const given = Buffer.from(signature, 'base64url')
    const expected = signatureOf(`${random}.${end}`)
    const signed = given.length === expected.length && timingSafeEqual(given, expected)
    return signed && rest.length === 0 && Number(end) - remainingSeconds > nowSeconds()
  }

  return {
    /** The token the browser already has in its cookie, or a new one. */
    tokenFor(cookie: string | undefined): string {
      return cookie !== undefined && isValid(cookie, RENEWED_BEFORE_END_SECONDS) ? cookie : create()
    },

    requireToken(token: unknown, cookie: string | undefined): void {
      const matches = cookie === undefined || cookie === token
      if (typeof token !== 'string' || !matches || !isValid(token)) throw csrfTokenRejected()
    },
  }
}
