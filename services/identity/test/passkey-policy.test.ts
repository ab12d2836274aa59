import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FLAGS } from './authenticator.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { startWithAlice } from './start-identity.ts'

const { UP, UV } = FLAGS
const APP = `android:apk-key-hash:${'a'.repeat(43)}`
const RELATED = 'https://example.net'

describe('the passkey policy', () => {
  test('refuses a key without user verification where verification is required', async (t) => {
    const env = { IDENTITY_PASSKEY_USER_VERIFICATION: 'required' }
    const { api, token } = await startWithAlice(t, { env })
    const passkeys = await startPasskeyClient(api)
    const asked = [
      await passkeys.registrationOptions(token),
      await passkeys.authenticationOptions(),
    ]

    assert.equal(asked[0].authenticatorSelection.userVerification, 'required')
    assert.equal(asked[1].userVerification, 'required')
    assert.equal((await passkeys.register(token, { flags: UP })).status, 400)
    assert.equal((await passkeys.register(token, { flags: UP | UV })).status, 200)
    assert.equal((await passkeys.logIn({ flags: UP })).status, 401)
    assert.equal((await passkeys.logIn({ flags: UP | UV })).status, 200)
  })

  test('accepts a key without user verification by default', async (t) => {
    const { api, token } = await startWithAlice(t)
    const passkeys = await startPasskeyClient(api)

    assert.equal((await passkeys.authenticationOptions()).userVerification, 'preferred')
    assert.equal((await passkeys.register(token, { flags: UP })).status, 200)
    assert.equal((await passkeys.logIn({ flags: UP })).status, 200)
  })

  test('allows passkeys for configured apps and related origins only', async (t) => {
    const env = {
      IDENTITY_PASSKEY_ORIGINS: `http://localhost:8081,${APP}`,
      IDENTITY_PASSKEY_RELATED_ORIGINS: RELATED,
    }
    const { api, token } = await startWithAlice(t, { env })
    const passkeys = await startPasskeyClient(api)

    assert.equal((await passkeys.register(token)).status, 200)
    for (const [origin, status] of [
      [APP, 200],
      [RELATED, 200],
      [`android:apk-key-hash:${'b'.repeat(43)}`, 401],
      ['https://evil.example', 401],
    ] as const)
      assert.equal((await passkeys.logIn({ origin })).status, status, origin)
    const { status, body, headers } = await api.get('/.well-known/webauthn')
    assert.deepEqual([status, body], [200, { origins: [RELATED] }])
    assert.match(headers.get('content-type') ?? '', /^application\/json/)
  })

  test('publishes no list of related origins if there are none', async (t) => {
    const { api } = await startWithAlice(t)

    assert.equal((await api.get('/.well-known/webauthn')).status, 404)
  })
})
