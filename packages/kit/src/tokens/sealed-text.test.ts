import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  openText,
  SealBrokenError,
  type Sealed,
  type SealedColumns,
  sealText,
} from './sealed-text.ts'

const key = randomBytes(32)

test('a sealed text opens with its key and purpose', () => {
  for (const text of ['', 'secret', 'é😀', 'x'.repeat(100_000)]) {
    assert.equal(openText(key, sealText(key, text, 'row 1'), 'row 1'), text)
  }
})

test('a sealed text names its format and its key, and has a nonce of 96 bits', () => {
  const [version, keyId = '', nonce = ''] = String(sealText(key, 'secret', 'row 1')).split('.')

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
  const [version, id, nonce = '', bytes = ''] = String(sealed).split('.')
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
    const text: unknown = parts.join('.')
    assert.throws(() => openText(key, text as Sealed, 'row 1'), SealBrokenError)
  }
})

test('the type check refuses a list that lacks a sealed column, and a sealed value in another column', () => {
  type Tables = {
    keys: { secret: Sealed }
    mails: { details: Sealed | null }
    notes: { text: string }
  }
  const all: SealedColumns<Tables> = { keys: { secret: true }, mails: { details: true } }
  // @ts-expect-error
  const some: SealedColumns<Tables> = { keys: { secret: true } }
  // @ts-expect-error
  const note: Tables['notes'] = { text: sealText(key, 'secret', 'note') }

  assert.deepEqual([Object.keys(all), Object.keys(some), Object.keys(note)].flat().length, 4)
})
