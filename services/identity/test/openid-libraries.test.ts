import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { testClock } from '@plinth/kit/testing'
import { createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import {
  type Browser,
  CALLBACK,
  obtainTokens,
  openBrowser,
  registerClient,
  signIn,
} from './browser.ts'
import { engines, startWithAlice } from './start-identity.ts'

/** Libraries use the clock of the machine, and the public address: requests to that go to the test server. */
async function start(t: TestContext, engine: (typeof engines)[number]) {
  const started = await startWithAlice(t, { engine, clock: testClock(new Date().toISOString()) })
  const { publicUrl } = started.config
  const send = (url: string | URL | Request, init?: RequestInit) =>
    fetch(String(url).replace(publicUrl, started.baseUrl), init)
  return { ...started, publicUrl, send: send as typeof fetch }
}

type Started = Awaited<ReturnType<typeof start>>

/** What the user does in the browser; returns the address that the client gets. */
async function visit({ api, publicUrl }: Started, browser: Browser, url: URL): Promise<URL> {
  const reply = await browser.open(url.href.slice(publicUrl.length))
  const location = new URL(reply.headers.get('location') ?? '')
  const id = location.searchParams.get('authorization')
  if (id === null) return location
  const signedIn = await signIn(api, browser, id)
  const last =
    signedIn.body.step === 'consent' ? await browser.decide(id, { action: 'allow' }) : signedIn
  return new URL(last.body.redirectTo)
}

for (const engine of engines)
  describe(`client libraries on ${engine.name}`, engine.options, () => {
    test('openid-client signs in, reads userinfo, refreshes, revokes and signs out', async (t) => {
      const started = await start(t, engine)
      const { api, publicUrl, send } = started
      const client = await registerClient(api, {
        postLogoutRedirectUris: ['https://wiki.example/bye'],
      })
      const execute = [openid.allowInsecureRequests, openid.enableNonRepudiationChecks]
      const config = await openid.discovery(
        new URL(publicUrl),
        client.clientId,
        client.clientSecret ?? '',
        undefined,
        { execute, [openid.customFetch]: send as openid.CustomFetch },
      )
      const browser = openBrowser(api)
      const verifier = openid.randomPKCECodeVerifier()
      const [state, nonce] = [openid.randomState(), openid.randomNonce()]

      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: CALLBACK,
        scope: 'openid profile email offline_access',
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      })
      const answer = await visit(started, browser, url)
      const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce }
      const tokens = await openid.authorizationCodeGrant(config, answer, checks)
      const sub = tokens.claims()?.sub ?? ''
      const info = await openid.fetchUserInfo(config, tokens.access_token, sub)
      const next = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
      const end = openid.buildEndSessionUrl(config, {
        id_token_hint: tokens.id_token ?? '',
        post_logout_redirect_uri: 'https://wiki.example/bye',
      })
      const ended = await browser.open(end.href.slice(publicUrl.length))
      await openid.tokenRevocation(config, next.refresh_token ?? '')

      assert.equal(info.preferred_username, 'alice')
      assert.equal(ended.headers.get('location'), 'https://wiki.example/bye')
      await assert.rejects(openid.refreshTokenGrant(config, next.refresh_token ?? ''), {
        error: 'invalid_grant',
      })
    })

    test('oauth4webapi pushes its request and authenticates with a key', async (t) => {
      const started = await start(t, engine)
      const { api, publicUrl, send } = started
      const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
      const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] }
      const { clientId } = await registerClient(api, {
        authMethod: 'private_key_jwt',
        requirePar: true,
        jwks,
        idTokenAlg: 'ES256',
      })
      const options = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: send as never }
      const issuer = new URL(publicUrl)
      const found = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oidc' })
      const server = await oauth.processDiscoveryResponse(issuer, found)
      const client = { client_id: clientId, id_token_signed_response_alg: 'ES256' }
      const auth = oauth.PrivateKeyJwt({ key: privateKey, kid: 'one' })
      const verifier = oauth.generateRandomCodeVerifier()
      const nonce = oauth.generateRandomNonce()

      const parameters = new URLSearchParams({
        client_id: clientId,
        redirect_uri: CALLBACK,
        response_type: 'code',
        scope: 'openid email',
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        nonce,
      })
      const pushed = await oauth.processPushedAuthorizationResponse(
        server,
        client,
        await oauth.pushedAuthorizationRequest(server, client, auth, parameters, options),
      )
      const url = new URL(server.authorization_endpoint ?? '')
      url.searchParams.set('client_id', clientId)
      url.searchParams.set('request_uri', pushed.request_uri)
      const answer = await visit(started, openBrowser(api), url)
      const validated = oauth.validateAuthResponse(server, client, answer)
      const tokens = await oauth.processAuthorizationCodeResponse(
        server,
        client,
        await oauth.authorizationCodeGrantRequest(
          server,
          client,
          auth,
          validated,
          CALLBACK,
          verifier,
          options,
        ),
        { expectedNonce: nonce, requireIdToken: true },
      )

      const claims = oauth.getValidatedIdTokenClaims(tokens)
      assert.equal(claims?.email, 'alice@example.com')
    })

    test('jose verifies the ID token, RS256 by default, with the published keys', async (t) => {
      const { api, publicUrl, baseUrl, clock } = await start(t, engine)
      const client = await registerClient(api)
      const { id_token } = await obtainTokens(api, client)
      const keys = createRemoteJWKSet(new URL(`${baseUrl}/.well-known/jwks.json`))

      const { payload, protectedHeader } = await jwtVerify(id_token, keys, {
        issuer: publicUrl,
        audience: client.clientId,
        currentDate: clock(),
      })

      assert.deepEqual([protectedHeader.alg, payload.nonce], ['RS256', 'some nonce'])
    })
  })
