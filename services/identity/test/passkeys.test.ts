import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import type { TestEngine } from '@plinth/kit/testing'
import {
  type Algorithm,
  createAuthenticator,
  type Falsified,
  FLAGS,
  newKeyPair,
} from './authenticator.ts'
import { ORIGIN, startPasskeyClient } from './passkey-client.ts'
import { ADMIN, engines, sharedIdentity, startWithAlice } from './start-identity.ts'

const { UP, UV, BE, BS } = FLAGS

const BAD_REGISTRATIONS: Record<string, Falsified> = {
  'another origin': { origin: 'https://evil.example' },
  'another port of the same host': { origin: 'http://localhost:9999' },
  'a subdomain of the origin': { origin: 'http://sub.localhost:8081' },
  'the origin with a trailing dot': { origin: 'http://localhost.:8081' },
  'the origin "null"': { origin: 'null' },
  'another rpId': { rpId: 'evil.example' },
  'a cross-origin frame': { crossOrigin: true },
  'a foreign top-level page': { crossOrigin: true, topOrigin: 'https://evil.example' },
  'a top-level page without a frame': { topOrigin: 'https://evil.example' },
  'the type of a login': { type: 'webauthn.get' },
  'an unknown challenge': { challenge: randomBytes(32).toString('base64url') },
  'no user present': { flags: UV },
  'backed up but not eligible': { flags: UP | BS },
  'an algorithm that was not offered': { alg: -36 },
  'an attestation signed by another key': {
    attestation: 'packed',
    signWith: newKeyPair('ES256').privateKey,
  },
  'an attestation format that was not requested': { attestation: 'tpm' },
  'a credential id over 1023 bytes': { credentialId: randomBytes(1024) },
  'an id that differs from the attested one': { id: randomBytes(32).toString('base64url') },
}

const BAD_LOGINS: Record<string, Falsified> = {
  'another origin': { origin: 'https://evil.example' },
  'another rpId': { rpId: 'evil.example' },
  'a cross-origin frame': { crossOrigin: true },
  'a foreign top-level page': { topOrigin: 'https://evil.example' },
  'the type of a registration': { type: 'webauthn.create' },
  'an unknown challenge': { challenge: randomBytes(32).toString('base64url') },
  'an unknown userHandle': { userHandle: randomBytes(32).toString('base64url') },
  'no userHandle': { userHandle: null },
  'an unknown credential': { id: randomBytes(32).toString('base64url') },
  'a signature of another key': { signWith: newKeyPair('ES256').privateKey },
  'no user present': { flags: UV },
  'a key that became eligible for backup': { flags: UP | UV | BE },
  'backed up but not eligible': { flags: UP | UV | BS },
}

/** Alice, signed in, with a passkey in her browser. */
async function startWithPasskey(t: TestContext, engine: TestEngine) {
  const started = await startWithAlice(t, { engine })
  const client = await startPasskeyClient(started.api)
  const added = await client.register(started.token)
  assert.equal(added.status, 200, JSON.stringify(added.body))
  return { ...started, client }
}

for (const engine of engines) {
  describe(`passkeys on ${engine.name}`, engine.options, () => {
    for (const algorithm of ['ES256', 'EdDSA', 'RS256'] satisfies Algorithm[]) {
      test(`register and log in with ${algorithm}, and return the usual token pair`, async (t) => {
        const { api, token } = await startWithAlice(t, { engine })
        const client = await startPasskeyClient(api, algorithm)

        const added = await client.register(token)
        const { status, body } = await client.logIn()

        assert.deepEqual([added.status, added.body], [200, { success: true }])
        assert.equal(status, 200)
        assert.equal(body.tokenType, 'Bearer')
        assert.equal(body.expiresInSeconds, 900)
        assert.equal(body.refreshTokenExpiresInSeconds, 1_209_600)
        const me = await api.get('/api/users/me', { token: body.accessToken })
        assert.equal(me.body.username, 'alice')
        const refreshed = await api.post('/api/auth/refresh', { refreshToken: body.refreshToken })
        assert.equal(refreshed.status, 200)
      })
    }

    test('have registration options with every member of the contract', async (t) => {
      const { token, client } = await startWithPasskey(t, engine)

      const options = await client.registrationOptions(token)
      const again = await client.registrationOptions(token)

      assert.match(options.challenge, /^[A-Za-z0-9_-]{43}$/)
      assert.notEqual(again.challenge, options.challenge)
      assert.match(options.user.id, /^[A-Za-z0-9_-]{43}$/)
      assert.equal(again.user.id, options.user.id)
      const { challenge: _, user, ...rest } = options
      assert.deepEqual(
        { name: user.name, displayName: user.displayName },
        {
          name: 'alice',
          displayName: 'alice',
        },
      )
      assert.deepEqual(rest, {
        rp: { id: 'localhost', name: 'Plinth' },
        pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: 'public-key', alg })),
        timeout: 300_000,
        excludeCredentials: [
          { type: 'public-key', id: client.authenticator.id, transports: ['internal'] },
        ],
        authenticatorSelection: {
          residentKey: 'required',
          requireResidentKey: true,
          userVerification: 'preferred',
        },
        attestation: 'none',
        extensions: { credProps: true },
      })
    })

    test('do not store transports that no standard defines', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const client = await startPasskeyClient(api)

      await client.register(token, { transports: ['usb', 'pigeon', 'internal'] })

      const { excludeCredentials } = await client.registrationOptions(token)
      assert.deepEqual(excludeCredentials[0].transports, ['usb', 'internal'])
    })

    test('have authentication options that name no user and no credential', async (t) => {
      const { client } = await startWithPasskey(t, engine)

      const { challenge, ...rest } = await client.authenticationOptions()

      assert.match(challenge, /^[A-Za-z0-9_-]{43}$/)
      assert.deepEqual(rest, {
        timeout: 300_000,
        rpId: 'localhost',
        allowCredentials: [],
        userVerification: 'preferred',
        extensions: {},
      })
    })

    test('accepts a packed attestation signed by the credential itself', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const client = await startPasskeyClient(api)

      assert.equal((await client.register(token, { attestation: 'packed' })).status, 200)
    })

    test('refuses a challenge the second time, even when the first attempt failed', async (t) => {
      const { client } = await startWithPasskey(t, engine)
      const options = await client.authenticationOptions()

      const bad = await client.present(client.authenticator.get(options, { rpId: 'evil.example' }))
      const good = await client.present(client.authenticator.get(options))

      assert.deepEqual([bad.status, good.status], [401, 401])
    })

    test('lets one of two concurrent logins with the same challenge succeed', async (t) => {
      const { client } = await startWithPasskey(t, engine)
      const options = await client.authenticationOptions()
      const credential = client.authenticator.get(options)

      const replies = await Promise.all([client.present(credential), client.present(credential)])

      assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 401])
    })

    test('refuses a challenge after five minutes', async (t) => {
      const { client, clock } = await startWithPasskey(t, engine)
      const options = await client.authenticationOptions()
      clock.advance(300)

      assert.equal((await client.present(client.authenticator.get(options))).status, 401)
    })

    test('refuses a registration challenge at login, and vice versa', async (t) => {
      const { api, client, token } = await startWithPasskey(t, engine)
      const forRegistration = await client.registrationOptions(token)
      const forLogin = await client.authenticationOptions()

      const { challenge } = forRegistration
      assert.equal((await client.logIn({ challenge })).status, 401)
      const other = createAuthenticator(ORIGIN)
      const credential = other.create({ ...forRegistration, challenge: forLogin.challenge })
      const body = { publicKey: { credential, label: 'x' } }
      const added = await api.post('/webauthn/register', body, { token, headers: client.headers })
      assert.equal(added.status, 400)
    })

    test("refuses another user's registration challenge", async (t) => {
      const { api, client, token } = await startWithPasskey(t, engine)
      const { body: admin } = await api.post('/api/auth/login', ADMIN)
      const options = await client.registrationOptions(admin.accessToken)
      const credential = createAuthenticator(ORIGIN).create(options)
      const body = { publicKey: { credential, label: 'x' } }

      const reply = await api.post('/webauthn/register', body, { token, headers: client.headers })

      assert.equal(reply.status, 400)
    })

    test('refuses a credential id that is already registered, for any user', async (t) => {
      const { api, client, token } = await startWithPasskey(t, engine)
      const { body: admin } = await api.post('/api/auth/login', ADMIN)

      assert.equal((await client.register(token)).status, 400)
      assert.equal((await client.register(admin.accessToken)).status, 400)
    })

    test('refuses a counter that has not increased since the last login', async (t) => {
      const { client } = await startWithPasskey(t, engine)

      assert.equal((await client.logIn({ counter: 10 })).status, 200)
      assert.equal((await client.logIn({ counter: 5 })).status, 401)
      assert.equal((await client.logIn({ counter: 10 })).status, 401)
      assert.equal((await client.logIn({ counter: 0 })).status, 401)
      assert.equal((await client.logIn({ counter: 11 })).status, 200)
    })

    test('lets one of two concurrent logins with the same counter succeed', async (t) => {
      const { client } = await startWithPasskey(t, engine)

      const replies = await Promise.all([
        client.logIn({ counter: 7 }),
        client.logIn({ counter: 7 }),
      ])

      assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 401])
    })

    test('accepts an authenticator without a counter', async (t) => {
      const { client } = await startWithPasskey(t, engine)

      assert.equal((await client.logIn({ counter: 0 })).status, 200)
      assert.equal((await client.logIn({ counter: 0 })).status, 200)
    })

    test('refuses a disabled user, and accepts the user again once enabled', async (t) => {
      const { api, client, userId } = await startWithPasskey(t, engine)
      const { body: admin } = await api.post('/api/auth/login', ADMIN)
      const setEnabled = (enabled: boolean) =>
        api.patch(`/api/users/${userId}`, { enabled }, { token: admin.accessToken })

      await setEnabled(false)
      assert.equal((await client.logIn()).status, 401)
      await setEnabled(true)
      assert.equal((await client.logIn()).status, 200)
    })

    test('lists only metadata; last use equals creation until the first login', async (t) => {
      const { api, client, clock, token } = await startWithPasskey(t, engine)
      const createdAt = clock().toISOString()
      const passkey = { id: client.authenticator.id, label: 'laptop', createdAt }
      const list = async () => (await api.get('/api/users/me/passkeys', { token })).body

      assert.deepEqual(await list(), [{ ...passkey, lastUsedAt: createdAt }])
      clock.advance(60)
      await client.logIn()
      assert.deepEqual(await list(), [{ ...passkey, lastUsedAt: clock().toISOString() }])
    })

    test("deletes the user's own passkey, which then no longer works", async (t) => {
      const { api, client, token } = await startWithPasskey(t, engine)
      const path = `/webauthn/register/${client.authenticator.id}`

      const deleted = await api.delete(path, { token, headers: client.headers })

      assert.deepEqual([deleted.status, deleted.body], [204, ''])
      assert.equal((await client.logIn()).status, 401)
      assert.equal((await api.delete(path, { token, headers: client.headers })).status, 403)
    })

    test("answers 403 both for another user's passkey and for one that does not exist", async (t) => {
      const { api, client } = await startWithPasskey(t, engine)
      const { body: admin } = await api.post('/api/auth/login', ADMIN)
      const remove = (id: string) =>
        api.delete(`/webauthn/register/${id}`, {
          token: admin.accessToken,
          headers: client.headers,
        })

      const [foreign, unknown, odd] = await Promise.all([
        remove(client.authenticator.id),
        remove('AAAA'),
        remove('%00'),
      ])

      assert.deepEqual([foreign?.status, unknown?.status, odd?.status], [403, 403, 403])
      assert.equal((await client.logIn()).status, 200)
    })

    test('requires a label of at most 100 characters', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const client = await startPasskeyClient(api)

      for (const label of ['', '   ', 'x'.repeat(101), 'a\u0000b'])
        assert.equal((await client.register(token, {}, label)).status, 400)
      const { body } = await client.register(token, {}, 'a\u0007b')
      const rule = 'must not be blank or contain control characters'
      assert.deepEqual(body.errors, [`publicKey.label: ${rule}`])
      assert.equal((await client.register(token, {}, 'x'.repeat(100))).status, 200)
    })

    test('records additions, uses, refusals and removals in the audit', async (t) => {
      const { api, client, token } = await startWithPasskey(t, engine)
      await client.logIn()
      await client.logIn({ counter: 1 })
      const path = `/webauthn/register/${client.authenticator.id}`
      await api.delete(path, { token, headers: client.headers })
      const { body: admin } = await api.post('/api/auth/login', ADMIN)

      const { body } = await api.get('/api/audit?sort=id,asc', { token: admin.accessToken })

      const events = body.content
        .filter(({ event }: { event: string }) => event.startsWith('PASSKEY'))
        .map((row: Record<string, string>) => [row.event, row.subject, row.result])
      assert.deepEqual(events, [
        ['PASSKEY_ADDED', 'alice', 'SUCCESS'],
        ['PASSKEY_USED', 'alice', 'SUCCESS'],
        ['PASSKEY_USED', 'alice', 'REFUSED'],
        ['PASSKEY_REMOVED', 'alice', 'SUCCESS'],
      ])
    })
  })

  // Refusals change nothing, so these tests share one service.
  describe(`a falsified ceremony on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })

    for (const [reason, falsified] of Object.entries(BAD_REGISTRATIONS)) {
      test(`is refused at registration for ${reason}`, async () => {
        const { api, token } = identity()
        const client = await startPasskeyClient(api)

        const reply = await client.register(token, falsified)

        assert.equal(reply.status, 400)
        assert.equal(reply.body.code, 'PASSKEY_REGISTRATION_FAILED')
        const { bytes } = await api.get('/api/users/me/passkeys', { token })
        assert.ok(!bytes.includes(client.authenticator.id))
      })
    }

    for (const [reason, falsified] of Object.entries(BAD_LOGINS)) {
      test(`is refused at login for ${reason}`, async () => {
        const { api, token } = identity()
        const client = await startPasskeyClient(api)
        assert.equal((await client.register(token)).status, 200)

        const reply = await client.logIn(falsified)

        assert.equal(reply.status, 401)
        const { requestId: _, ...body } = reply.body
        assert.deepEqual(body, {
          type: 'about:blank',
          title: 'Unauthorized',
          status: 401,
          detail: 'The passkey was not accepted.',
          instance: '/login/webauthn',
          code: 'INVALID_CREDENTIALS',
        })
      })
    }
  })
}
