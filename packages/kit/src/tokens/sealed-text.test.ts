import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openText, SealBrokenError, sealText } from './sealed-text.ts'

const key = randomBytes(32)

test('a sealed text opens with its key and purpose', () => {
  for (const text of ['', 'secret', 'é😀', 'x'.repeat(100_000)]) {
    assert.equal(openText(key, sealText(key, text, 'row 1'), 'row 1'), text)
  }
})

test('a sealed text names its format and its key, and has a nonce of 96 bits', () => {
  const [version, keyId = '', nonce = ''] = sealText(key, 'secret', 'row 1').split('.')

  assert.equal(version, 'v1')
  assert.match(keyId, /^[0-9a-f]{8}$/)
  assert.equal(Buffer.from(nonce, 'base64url').length, 12)
})

test('the same text is never sealed the same way twice', () => {
  assert.notEqual(sealText(key, 'secret', 'row 1'), sealText(key, 'secret', 'row 1'))
})

test('a text sealed for one purpose does not open for another', () => {
  assert.throws(() => openText(key, sealText(key, 'secret', 'row 1'), 'row 2'), SealBrokenError)
})

test('the error for another key names it without revealing it', () => {
  const other = randomBytes(32)

  assert.throws(() => openText(other, sealText(key, 'secret', 'row 1'), 'row 1'), {
    name: 'SealBrokenError',
    message: /^Sealed with key [0-9a-f]{8}, but the key given is [0-9a-f]{8}$/,
  })
})

test('an altered, truncated or foreign text does not open', () => {
  const sealed = sealText(key, 'secret', 'row 1')
  const [version, id, nonce = '', bytes = ''] = sealed.split('.')
  const flipped = Buffer.from(bytes, 'base64url')
  flipped[0] = (flipped[0] ?? 0) ^ 1
  const broken = [
    [version, id, nonce, flipped.toString('base64url')],
    [version, id, nonce, bytes.slice(0, -4)],
    [version, id, nonce, ''],
    [version, id, '', bytes],
    ['v2', id, nonce, bytes],
    [''],
  ]

  for (const parts of broken) {
    assert.throws(() => openText(key, parts.join('.'), 'row 1'), SealBrokenError)
  }
})
