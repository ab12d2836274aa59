import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Env, readSettings, SettingsError } from '@plinth/kit/runtime'
import { relyingParty, userVerification } from './relying-party.ts'

const read = (env: Env, publicUrl = 'http://localhost:8081') =>
  readSettings(env, (settings) => relyingParty(settings, publicUrl))

describe('the relying party of passkeys', () => {
  test('is the public address by default', () => {
    assert.deepEqual(read({}), {
      id: 'localhost',
      name: 'Plinth',
      origins: ['http://localhost:8081'],
    })
    assert.deepEqual(read({}, 'https://id.example.org/base')?.origins, ['https://id.example.org'])
  })

  test('is undefined when switched off, or when the default address cannot have passkeys', () => {
    assert.equal(read({ IDENTITY_PASSKEYS: 'off' }), undefined)
    assert.equal(read({}, 'http://192.168.1.5:8081'), undefined)
    assert.equal(read({}, 'http://id.example.org'), undefined)
  })

  test('may be a parent domain of several origins', () => {
    const env = {
      IDENTITY_PASSKEY_RP_ID: 'example.org',
      IDENTITY_PASSKEY_ORIGINS: 'https://id.example.org, https://example.org:8443',
      IDENTITY_PASSKEY_RP_NAME: 'Example',
    }

    assert.deepEqual(read(env), {
      id: 'example.org',
      name: 'Example',
      origins: ['https://id.example.org', 'https://example.org:8443'],
    })
  })

  test('may have Android apps and related origins elsewhere', () => {
    const app = `android:apk-key-hash:${'a'.repeat(43)}`
    const env = {
      IDENTITY_PASSKEY_ORIGINS: `http://localhost:8081,${app}`,
      IDENTITY_PASSKEY_RELATED_ORIGINS: 'https://example.net',
    }

    assert.deepEqual(read(env), {
      id: 'localhost',
      name: 'Plinth',
      origins: ['http://localhost:8081', app, 'https://example.net'],
      relatedOrigins: ['https://example.net'],
    })
  })

  test('asks for user verification by default in production only', () => {
    const verification = (env: Env) => readSettings(env, userVerification)

    assert.equal(verification({}), 'preferred')
    assert.equal(verification({ NODE_ENV: 'production' }), 'required')
    const preferred = { IDENTITY_PASSKEY_USER_VERIFICATION: 'preferred' }
    assert.equal(verification({ NODE_ENV: 'production', ...preferred }), 'preferred')
  })

  const elsewhere = { IDENTITY_PASSKEY_RP_ID: 'example.org' }
  const mistakes: [name: string, env: Env, words: RegExp][] = [
    ['a URL as id', { IDENTITY_PASSKEY_RP_ID: 'https://example.org' }, /is not a host name/],
    ['an IP address as id', { IDENTITY_PASSKEY_RP_ID: '10.0.0.1' }, /no passkeys for an IP/],
    [
      'an origin elsewhere',
      { IDENTITY_PASSKEY_ORIGINS: 'https://evil.example' },
      /is not at localhost or below it/,
    ],
    [
      'a look-alike domain',
      { ...elsewhere, IDENTITY_PASSKEY_ORIGINS: 'https://badexample.org' },
      /is not at example\.org/,
    ],
    [
      'an origin with a path',
      { IDENTITY_PASSKEY_ORIGINS: 'http://localhost:8081/' },
      /nothing after them/,
    ],
    [
      'an app without its certificate hash',
      { IDENTITY_PASSKEY_ORIGINS: 'android:apk-key-hash:short' },
      /43 characters of base64url/,
    ],
    [
      'a related page without https',
      { IDENTITY_PASSKEY_RELATED_ORIGINS: 'http://example.net' },
      /is not an https origin/,
    ],
    [
      'plain http elsewhere',
      { ...elsewhere, IDENTITY_PASSKEY_ORIGINS: 'http://example.org' },
      /must be https/,
    ],
  ]
  for (const [name, env, words] of mistakes) {
    test(`reports ${name} before the service starts`, () => {
      assert.throws(
        () => read(env),
        (error) => error instanceof SettingsError && words.test(error.message),
      )
    })
  }
})
