import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { propertyRuns } from '@plinth/kit/testing'
import fc from 'fast-check'
import { requireReturnAddress } from './return-address.ts'

const ALLOWED = { publicUrl: 'https://id.example/base', corsOrigins: ['https://app.example'] }

function accepted(text: string): URL | undefined {
  try {
    return new URL(requireReturnAddress(ALLOWED, text))
  } catch {
    return undefined
  }
}

describe('the address that a browser returns to', () => {
  test('is below the account pages, or of an allowed origin', () => {
    const pages = [
      'https://id.example/base/account/',
      'https://id.example/base/account/sign-in?a=b',
    ]
    for (const page of [...pages, 'https://app.example', 'https://APP.example:443/x?y'])
      assert.ok(accepted(page), page)
    for (const page of [
      'https://id.example/account/',
      'https://id.example/base/accounts/',
      'https://id.example/base/account/%2e%2e/%2e%2e/evil',
      'https://app.example:8443/',
      'http://app.example/',
      'https://app.example/#',
      'https://user@app.example/',
      'https://:secret@app.example/',
    ])
      assert.equal(accepted(page), undefined, page)
  })

  test('is never elsewhere, however it is written', { tags: ['property'] }, () => {
    const part = fc.oneof(
      fc.constantFrom('https://', 'app.example', 'id.example', '/base/account/', '@', '\\', '..'),
      fc.constantFrom('%2e', '//', ':443', '#', '?', '\t', '\u2044', 'javascript:'),
      fc.string({ maxLength: 4 }),
    )
    const written = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''))

    fc.assert(
      fc.property(written, (text) => {
        const url = accepted(text)
        if (!url) return
        const isOwn =
          url.origin === 'https://id.example' && url.pathname.startsWith('/base/account/')
        assert.ok(isOwn || url.origin === 'https://app.example', url.href)
        assert.deepEqual([url.hash, url.username, url.password], ['', '', ''])
      }),
      { numRuns: propertyRuns(2000) },
    )
  })
})
