import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { type Api, type TestEngine, testClock } from '@plinth/kit/testing'
import { mailTo, tokenOf } from './inbox.ts'
import { ALICE, startIdentity, startWithAlice } from './start-identity.ts'
import { CLIENT_ID, CLIENT_SECRET, type Person, startUpstream, type Upstream } from './upstream.ts'

export const APP = 'https://app.example'
export const RETURN_TO = `${APP}/signed-in`

export const ADA: Person = { sub: 'ada-1', email: 'ada@example.com', email_verified: true }
/** Someone whose provider vouches for the address of alice's account. */
export const ALICE_THERE: Person = { sub: 'alice-1', email: ALICE.email, email_verified: true }

const PREFIX = 'IDENTITY_PROVIDER_ACME_'

export function settingsFor({ issuer }: Upstream, more: Record<string, string> = {}) {
  const own = { ISSUER: issuer, CLIENT_ID, CLIENT_SECRET, NAME: 'Acme', ...more }
  const named = Object.entries(own).map(([name, value]) => [`${PREFIX}${name}`, value])
  return {
    IDENTITY_PROVIDERS: 'acme',
    IDENTITY_CORS_ORIGINS: APP,
    ...Object.fromEntries(named),
  } as Record<string, string>
}

type Options = {
  engine: TestEngine
  /** Settings of the provider, without their prefix. */
  provider?: Record<string, string>
  env?: Record<string, string>
  path?: string
}

/** A service with the provider `acme`. */
export async function startFederated(t: TestContext, options: Options) {
  const { engine, provider, env, path } = options
  const clock = testClock()
  const upstream = await startUpstream(t, clock, path)
  const all = { ...settingsFor(upstream, provider), ...env }
  const started = await startIdentity(t, { engine, clock, env: all })
  return { ...started, upstream }
}

/** The same, with alice registered and signed in; her address is verified unless told otherwise. */
export async function startWithAliceAndAcme(
  t: TestContext,
  { verified = true, ...options }: Options & { verified?: boolean },
) {
  const clock = testClock()
  const upstream = await startUpstream(t, clock, options.path)
  const env = { ...settingsFor(upstream, options.provider), ...options.env }
  const started = await startWithAlice(t, { engine: options.engine, clock, env })
  if (verified) {
    const token = tokenOf(await mailTo(started.api, ALICE.email, 'verify-email'))
    assert.equal((await started.api.post('/api/auth/verify-email', { token })).status, 204)
  }
  return { ...started, upstream }
}

const pathOf = (url: string) => new URL(url).pathname + new URL(url).search

/** A browser, with the application's page in it. */
export function openBrowser(api: Api) {
  let cookie = ''
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const headers = () => ({ headers: { cookie } })

  const browser = {
    verifier,
    challenge,
    cookie: () => cookie,

    /** `token` is that of a user who links an identity. */
    async start({ provider = 'acme', returnTo = RETURN_TO, token = '' } = {}) {
      const path =
        token === ''
          ? `/api/auth/providers/${provider}/start`
          : `/api/users/me/identities/${provider}/start`
      return api.post(path, { returnTo, challenge }, token === '' ? {} : { token })
    },

    /** Navigates to the address of a start; returns where the browser is sent. */
    async open(url: string) {
      const reply = await api.get(pathOf(url), headers())
      cookie = reply.headers.get('set-cookie')?.split(';')[0] ?? cookie
      return { ...reply, location: reply.headers.get('location') ?? '' }
    },

    /** Comes back from the provider. */
    async back(answer: URLSearchParams, provider = 'acme') {
      const reply = await api.get(`/federation/${provider}/callback?${answer}`, headers())
      const location = reply.headers.get('location') ?? ''
      const fragment = new URLSearchParams(location.split('#')[1] ?? '')
      return {
        ...reply,
        location,
        ticket: fragment.get('ticket') ?? '',
        error: fragment.get('error'),
      }
    },

    /** As far as the provider: returns its page. */
    async goTo(options: { token?: string; provider?: string } = {}): Promise<string> {
      const { status, body } = await browser.start(options)
      assert.equal(status, 200)
      return (await browser.open(body.url)).location
    },

    /** The whole round, up to the ticket or the error. */
    async visit(upstream: Upstream, person: Person, options: { token?: string } = {}) {
      return browser.back(upstream.agree(await browser.goTo(options), person))
    },

    finish: (ticket: string, options: { token?: string; verifier?: string } = {}) => {
      const { token, verifier: own = verifier } = options
      const body = { ticket, verifier: own }
      return api.post('/api/auth/providers/finish', body, token === undefined ? {} : { token })
    },

    async signIn(upstream: Upstream, person: Person) {
      return browser.finish((await browser.visit(upstream, person)).ticket)
    },
  }
  return browser
}
