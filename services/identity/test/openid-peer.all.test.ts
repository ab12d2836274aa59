import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { testClock } from '@plinth/kit/testing'
import * as openid from 'openid-client'
import { CALLBACK, claimsIn, type Fields, openBrowser, registerClient, signIn } from './browser.ts'
import { openPeerBrowser, PEER_CLIENT, startPeer, type Visited } from './peer-provider.ts'
import { startWithAlice } from './start-identity.ts'

const AFTER = 'https://wiki.example/bye'
const SCOPE = 'openid profile email offline_access'
const PAGE = join(import.meta.dirname, '../../../docs/openid-conformance.md')

/** A provider with one client, and people who sign in to it. */
type Side = {
  config: openid.Configuration
  newUser(): { visit(url: URL): Promise<Visited> }
  send: typeof fetch
}

const execute = [openid.allowInsecureRequests, openid.enableNonRepudiationChecks]

async function startOurs(t: TestContext): Promise<Side> {
  const { api, baseUrl, config } = await startWithAlice(t, {
    clock: testClock(new Date().toISOString()),
  })
  const { publicUrl } = config
  // The library asks the public address; requests to that go to the test server.
  const send = ((url: string | URL, init?: RequestInit) =>
    fetch(String(url).replace(publicUrl, baseUrl), init)) as typeof fetch
  const client = await registerClient(api, { postLogoutRedirectUris: [AFTER] })
  const options = { execute, [openid.customFetch]: send as openid.CustomFetch }
  const newUser = () => {
    const browser = openBrowser(api)
    const visit = async (url: URL): Promise<Visited> => {
      const { status, headers } = await browser.open(url.href.slice(publicUrl.length))
      const location = headers.get('location')
      if (location === null) return { status, location: undefined, pages: 0 }
      const id = new URL(location).searchParams.get('authorization')
      if (id === null) return { status, location: new URL(location), pages: 0 }
      const first = await browser.show(id)
      const isOut = first.body.step === 'sign-in'
      const next = isOut ? await signIn(api, browser, id) : first
      const asks = next.body.step === 'consent'
      const last = asks ? await browser.decide(id, { action: 'allow' }) : next
      const pages = Number(isOut) + Number(asks)
      return { status, location: new URL(last.body.redirectTo), pages }
    }
    return { visit }
  }
  const { clientId, clientSecret } = client
  return {
    config: await openid.discovery(new URL(publicUrl), clientId, clientSecret ?? '', undefined, {
      ...options,
    }),
    newUser,
    send,
  }
}

async function startTheirs(t: TestContext): Promise<Side> {
  const issuer = await startPeer(t, AFTER)
  const { clientId, clientSecret } = PEER_CLIENT
  const config = await openid.discovery(new URL(issuer), clientId, clientSecret, undefined, {
    execute,
  })
  return { config, newUser: () => openPeerBrowser(issuer), send: fetch }
}

type Observed = Record<string, unknown>

/** The same client does the same at both; returns what it saw. */
async function observe(side: Side): Promise<Observed> {
  return {
    ...(await observeSignIn(side)),
    ...(await observeRefusals(side)),
    ...(await observeEnds(side)),
  }
}

async function requestOf({ config }: Side, change: Fields = {}) {
  const verifier = openid.randomPKCECodeVerifier()
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    scope: SCOPE,
    prompt: 'consent',
    state: 'the state',
    nonce: 'the nonce',
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...change,
  })
  for (const [name, value] of Object.entries(change))
    if (value === '') url.searchParams.delete(name)
  return { url, verifier }
}

async function signedIn(side: Side, user = side.newUser(), change: Fields = {}) {
  const { url, verifier } = await requestOf(side, change)
  const { location, pages } = await user.visit(url)
  const answer = location ?? new URL('none:')
  const checks = {
    pkceCodeVerifier: verifier,
    expectedState: 'the state',
    expectedNonce: 'the nonce',
  }
  const tokens = await openid.authorizationCodeGrant(side.config, answer, checks)
  return { user, tokens, answer, verifier, pages, checks }
}

async function observeSignIn(side: Side): Promise<Observed> {
  const { config } = side
  const { user, tokens, answer, pages } = await signedIn(side)
  const sub = tokens.claims()?.sub ?? ''
  const info = await openid.fetchUserInfo(config, tokens.access_token, sub)
  const next = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
  const [head = ''] = (tokens.id_token ?? '').split('.')
  const again = await signedIn(side, user, { prompt: '' })
  const metadata = config.serverMetadata()
  return {
    'response types': metadata.response_types_supported,
    'response modes': metadata.response_modes_supported?.toSorted(),
    'challenge methods': metadata.code_challenge_methods_supported,
    'pages of a sign-in': pages,
    'parameters of the answer': [...answer.searchParams.keys()].sort(),
    'members of the token reply': Object.keys(tokens).sort(),
    'lifetime of an access token': tokens.expires_in,
    'access tokens': tokens.access_token.includes('.') ? 'signed' : 'opaque',
    'algorithm of ID tokens': JSON.parse(Buffer.from(head, 'base64url').toString()).alg,
    'claims of ID tokens': Object.keys(claimsIn(tokens.id_token ?? '')).sort(),
    'members of userinfo': Object.keys(info).sort(),
    'a refresh': [
      next.refresh_token === tokens.refresh_token ? 'keeps the token' : 'rotates the token',
      next.id_token ? 'with an ID token' : 'without an ID token',
    ],
    'pages of a second visit': again.pages,
    'a refresh token without prompt=consent': again.tokens.refresh_token ? 'yes' : 'no',
  }
}

async function observeRefusals(side: Side): Promise<Observed> {
  const user = side.newUser()
  await signedIn(side, user)
  const ask = async (change: Fields, more = '') => {
    const { url } = await requestOf(side, { prompt: '', ...change })
    const { status, location } = await user.visit(new URL(url.href + more))
    if (!location) return `page ${status}`
    const { searchParams, hash } = location
    const answer = searchParams.size > 0 ? searchParams : new URLSearchParams(hash.slice(1))
    return answer.get('error') ?? 'code'
  }
  const none = await requestOf(side, { prompt: 'none' })
  const stranger = await side.newUser().visit(none.url)
  return {
    'prompt=none without a session': stranger.location?.searchParams.get('error'),
    'prompt=none with a session': await ask({ prompt: 'none', scope: 'openid' }),
    'another redirect_uri': await ask({ redirect_uri: `${CALLBACK}/` }),
    'an unknown client': await ask({ client_id: 'unknown' }),
    'no challenge': await ask({ code_challenge: '', code_challenge_method: '' }),
    'no challenge and no nonce': await ask({
      code_challenge: '',
      code_challenge_method: '',
      nonce: '',
    }),
    'a plain challenge': await ask({ code_challenge_method: 'plain' }),
    'response_type=token': await ask({ response_type: 'token' }),
    'no response_type': await ask({ response_type: '' }),
    'an unknown scope': await ask({ scope: 'openid unknown' }),
    'only an unknown scope': await ask({ scope: 'unknown' }),
    'a request object': await ask({ request: 'x.y.z' }),
    'a request_uri': await ask({ request_uri: 'https://wiki.example/request' }),
    'max_age that is no number': await ask({ max_age: 'x' }),
    'prompt=none with another': await ask({ prompt: 'none login' }),
    'an unknown response_mode': await ask({ response_mode: 'unknown' }),
    'a repeated parameter': await ask({}, '&scope=openid'),
    'an id_token_hint that is none': await ask({ id_token_hint: 'x.y.z' }),
    'a request as a form': await posted(side),
  }
}

async function posted(side: Side): Promise<string> {
  const { url } = await requestOf(side)
  const address = url.href.slice(0, url.href.indexOf('?'))
  const reply = await side.send(address, {
    method: 'POST',
    body: url.searchParams,
    redirect: 'manual',
  })
  return reply.status === 303 ? 'accepted' : `refused with ${reply.status}`
}

async function observeEnds(side: Side): Promise<Observed> {
  const { config } = side
  const errorOf = (work: Promise<unknown>) =>
    work.then(
      () => 'accepted',
      ({ error, status }: { error?: string; status?: number }) => error ?? String(status),
    )
  const infoOf = async (token: string) => {
    const { userinfo_endpoint: address = '' } = config.serverMetadata()
    const headers = { authorization: `Bearer ${token}` }
    return (await side.send(address, { headers })).status
  }

  const replayed = await signedIn(side)
  const codeAgain = await errorOf(
    openid.authorizationCodeGrant(config, replayed.answer, replayed.checks),
  )
  const infoAfterReplay = await infoOf(replayed.tokens.access_token)

  const verified = await requestOf(side)
  const { location } = await side.newUser().visit(verified.url)
  const wrongVerifier = await errorOf(
    openid.authorizationCodeGrant(config, location ?? new URL('none:'), {
      ...replayed.checks,
      pkceCodeVerifier: openid.randomPKCECodeVerifier(),
    }),
  )

  const refreshed = await signedIn(side)
  const spent = refreshed.tokens.refresh_token ?? ''
  const next = await openid.refreshTokenGrant(config, spent)
  const spentAgain = await errorOf(openid.refreshTokenGrant(config, spent))
  const nextAfter = await errorOf(openid.refreshTokenGrant(config, next.refresh_token ?? ''))

  const revoked = await signedIn(side)
  await openid.tokenRevocation(config, revoked.tokens.refresh_token ?? '')
  const refreshAfter = await errorOf(
    openid.refreshTokenGrant(config, revoked.tokens.refresh_token ?? ''),
  )

  const { url } = await requestOf(side)
  const pushed = await openid.buildAuthorizationUrlWithPAR(config, url.searchParams)
  const user = side.newUser()
  const first = await user.visit(pushed)
  const second = await user.visit(pushed)

  const leaving = await signedIn(side)
  const end = openid.buildEndSessionUrl(config, {
    id_token_hint: leaving.tokens.id_token ?? '',
    post_logout_redirect_uri: AFTER,
  })
  const left = await leaving.user.visit(end)
  return {
    'a code again': [codeAgain, `userinfo ${infoAfterReplay}`],
    'another verifier': wrongVerifier,
    'a spent refresh token at once': [spentAgain, `the next one is ${nextAfter}`],
    'a revoked refresh token': refreshAfter,
    'an access token after the revocation of its refresh token': await infoOf(
      revoked.tokens.access_token,
    ),
    'a pushed request': [
      first.location?.searchParams.has('code'),
      second.location?.searchParams.get('error') ?? `page ${second.status}`,
    ],
    'a sign-out with a hint': left.location?.href ?? 'a page asks',
  }
}

describe('the same client at our provider and at oidc-provider', () => {
  test('sees the differences that the documentation lists, and no others', async (t) => {
    const ours = await observe(await startOurs(t))
    const theirs = await observe(await startTheirs(t))

    const text = (value: unknown) => [value].flat().map(String).join(', ')
    const differences = Object.keys(ours)
      .map((what) => [what, text(ours[what]), text(theirs[what])])
      .filter(([, one, other]) => one !== other)
    const listed = [
      ...readFileSync(PAGE, 'utf8').matchAll(/^\| (.+) \| `(.+)` \| `(.+)` \| .+ \|$/gm),
    ]
    assert.deepEqual(
      differences,
      listed.map((row) => row.slice(1, 4)),
    )
  })
})
