import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { testClock } from '@plinth/kit/testing'
import { newRecoveryCodes, recoveryCodeHash } from '../src/factors/recovery-codes.ts'
import { base32, codeOf, enrolmentUri, stepAt, stepOfCode } from '../src/factors/totp.ts'

/** The secret of RFC 6238, appendix B, and of RFC 4226, appendix D. */
const SECRET = Buffer.from('12345678901234567890')

describe('TOTP', () => {
  test('generates the SHA-1 codes of RFC 6238, appendix B', () => {
    const codes = {
      59: '94287082',
      1111111109: '07081804',
      1111111111: '14050471',
      1234567890: '89005924',
      2000000000: '69279037',
      20000000000: '65353130',
    }

    for (const [seconds, code] of Object.entries(codes))
      assert.equal(codeOf(SECRET, stepAt(new Date(Number(seconds) * 1000)), 8), code)
  })

  test('generates the codes of RFC 4226, appendix D', () => {
    const codes = '755224 287082 359152 969429 338314 254676 287922 162583 399871 520489'

    assert.equal(Array.from({ length: 10 }, (_, n) => codeOf(SECRET, n)).join(' '), codes)
  })

  test('accepts the codes of the current step and of those before and after it, but no others', () => {
    const clock = testClock('2030-01-01T00:00:15.000Z')
    const step = stepAt(clock())
    const accepted = [-2, -1, 0, 1, 2].map((by) =>
      stepOfCode(SECRET, codeOf(SECRET, step + by), clock()),
    )

    assert.deepEqual(accepted, [undefined, step - 1, step, step + 1, undefined])
  })

  test('accepts a clock that is 31 seconds off, and spaces in the code', () => {
    for (const seconds of [-31, 31]) {
      const now = new Date('2030-01-01T00:00:15.000Z')
      const theirs = new Date(now.getTime() + seconds * 1000)
      const code = codeOf(SECRET, stepAt(theirs))
      const typed = `${code.slice(0, 3)} ${code.slice(3)}`

      assert.equal(stepOfCode(SECRET, typed, now), stepAt(theirs))
    }
  })

  test('accepts only six ASCII digits', () => {
    for (const typed of ['', '12345', '1234567', 'abcdef', '１２３４５６', '-1e5', '\0'.repeat(6)])
      assert.equal(stepOfCode(SECRET, typed, new Date(0)), undefined)
  })

  test('encodes base32 as in RFC 4648, without padding', () => {
    const vectors = {
      f: 'MY',
      fo: 'MZXQ',
      foo: 'MZXW6',
      foob: 'MZXW6YQ',
      fooba: 'MZXW6YTB',
      foobar: 'MZXW6YTBOI',
    }

    for (const [text, encoded] of Object.entries(vectors))
      assert.equal(base32(Buffer.from(text)), encoded)
  })

  test('has issuer and account in its URI, without a colon inside either', () => {
    const uri = new URL(enrolmentUri(SECRET, { issuer: 'A: B & C', account: 'ada:x' }))

    assert.equal(uri.protocol, 'otpauth:')
    assert.equal(decodeURIComponent(uri.pathname), '/A  B & C:ada x')
    assert.deepEqual(Object.fromEntries(uri.searchParams), {
      secret: base32(SECRET),
      issuer: 'A  B & C',
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    })
  })
})

describe('recovery codes', () => {
  test('are ten different codes of 65 bits', () => {
    const codes = newRecoveryCodes()

    assert.equal(new Set(codes).size, 10)
    for (const code of codes)
      assert.match(code, /^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{5}$/)
  })

  test('are recognised in lower case, without dashes and with O for 0, I and L for 1', () => {
    const key = Buffer.alloc(32, 7)
    const stored = recoveryCodeHash(key, 1, '0011-ABCD-00111')

    for (const typed of ['0011abcd00111', 'OOil-abcd-ooILI', ' oo1l abcd 0 0111 '])
      assert.equal(recoveryCodeHash(key, 1, typed), stored)
    assert.notEqual(recoveryCodeHash(key, 2, '0011-ABCD-00111'), stored)
    assert.notEqual(recoveryCodeHash(Buffer.alloc(32, 8), 1, '0011-ABCD-00111'), stored)
  })
})
