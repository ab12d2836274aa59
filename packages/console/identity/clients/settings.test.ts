import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KINDS } from './settings.ts'

const SETTINGS = {
  issuer: 'https://id.example',
  clientId: 'shop"1',
  isPublic: false,
  redirectUri: 'https://shop.example/callback',
  scopes: ['openid', 'email'],
}

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
    assert.doesNotMatch(KINDS[name]?.text({ ...SETTINGS, isPublic: true }) ?? '', /SECRET/)
})
