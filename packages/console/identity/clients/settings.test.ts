import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KINDS, type SettingsOf } from './settings.ts'

const SETTINGS: SettingsOf = {
  issuer: 'https://id.example',
  clientId: 'shop"1',
  authMethod: 'client_secret',
  requirePkce: true,
  redirectUri: 'https://shop.example/callback',
  scopes: ['openid', 'email'],
}

const textOf = (name: string, change: Partial<SettingsOf> = {}) =>
  KINDS[name]?.text({ ...SETTINGS, ...change }) ?? ''

for (const [name, { text }] of Object.entries(KINDS))
  test(`the settings for ${name} have the issuer and the client, quoted, and no secret`, () => {
    const shown = text(SETTINGS)

    assert.match(shown, /"https:\/\/id\.example"/)
    assert.match(shown, /"shop\\"1"/)
    assert.match(shown, /openid/)
    assert.doesNotMatch(shown, /undefined/)
  })

test('the settings of a public client ask for no secret', () => {
  for (const name of ['openid-client', 'authjs', 'spring'])
    assert.doesNotMatch(textOf(name, { authMethod: 'none' }), /SECRET/)
})

test('the settings of a client with a key ask for no secret', () => {
  const authMethod = 'private_key_jwt'

  for (const name of Object.keys(KINDS))
    assert.doesNotMatch(textOf(name, { authMethod }), /CLIENT_SECRET|client_secret/)
  assert.match(textOf('openid-client', { authMethod }), /PrivateKeyJwt/)
})

test('an address that the framework does not answer at is pointed out', () => {
  const paths = {
    authjs: '/api/auth/callback/plinth',
    spring: '/login/oauth2/code/plinth',
    'oauth2-proxy': '/oauth2/callback',
  }

  for (const [name, path] of Object.entries(paths)) {
    assert.match(textOf(name), new RegExp(`answers at …${path}`))
    assert.doesNotMatch(textOf(name, { redirectUri: `https://shop.example${path}` }), /answers/)
  }
})

test('Spring names the user by a claim that its scopes give, and is told about PKCE', () => {
  const profile = { scopes: ['openid', 'profile'] }

  assert.match(textOf('spring'), /user-name-attribute: sub$/)
  assert.match(textOf('spring', profile), /user-name-attribute: preferred_username$/)
  assert.match(textOf('spring'), /code challenge/)
  assert.doesNotMatch(textOf('spring', { authMethod: 'none' }), /code challenge/)
  assert.doesNotMatch(textOf('spring', { requirePkce: false }), /code challenge/)
})
