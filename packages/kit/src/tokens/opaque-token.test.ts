import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashOpaqueToken, newOpaqueToken } from './opaque-token.ts'

test('an opaque token has 32 random bytes', () => {
  const tokens = Array.from({ length: 100 }, newOpaqueToken)

  assert.equal(new Set(tokens).size, 100)
  for (const token of tokens) assert.match(token, /^[A-Za-z0-9_-]{43}$/)
})

test('its hash is SHA-256 and reveals nothing about the token', () => {
  assert.equal(hashOpaqueToken('abc'), 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
})
