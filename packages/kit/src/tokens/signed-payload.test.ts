import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { signPayload, verifyPayload } from './signed-payload.ts'

const SECRET = 'current'
const PREVIOUS = 'previous'
const NOW = new Date('2030-01-01T00:00:00.900Z')
const T = Math.floor(NOW.getTime() / 1000)
const BODY = Buffer.from('{"id":"1","note":"é / \\/"}\n')

const hexOf = (timestamp: string | number, body: Buffer | string, secret = SECRET) =>
  createHmac('sha256', secret)
    .update(Buffer.concat([Buffer.from(`${timestamp}.`), Buffer.from(body)]))
    .digest('hex')
const verdictOn = (header: string | readonly string[] | undefined, body: Buffer | string = BODY) =>
  verifyPayload(body, header, { secrets: [SECRET, PREVIOUS], now: NOW })

describe('signPayload', () => {
  test('signs the time and the exact bytes with every secret', () => {
    const header = signPayload(BODY, [SECRET, PREVIOUS], NOW)

    assert.equal(header, `t=${T},v1=${hexOf(T, BODY)},v1=${hexOf(T, BODY, PREVIOUS)}`)
  })

  test('signs a text and its bytes alike', () => {
    assert.equal(signPayload('é', [SECRET], NOW), signPayload(Buffer.from('é'), [SECRET], NOW))
  })
})

describe('verifyPayload accepts', () => {
  const good = hexOf(T, BODY)
  const accepted: Record<string, string | readonly string[]> = {
    'its own signature': signPayload(BODY, [SECRET], NOW),
    'the previous secret while it is being replaced': signPayload(BODY, [PREVIOUS], NOW),
    'a good v1 after a bad one': `t=${T},v1=${'0'.repeat(64)},v1=${good}`,
    'a v0 beside the v1': `t=${T},v0=${'0'.repeat(64)},v1=${good}`,
    'the time at the end': `v1=${good},t=${T}`,
    'blanks after the commas': `t=${T}, v1=${good}`,
    'the one header in a list': [`t=${T},v1=${good}`],
    'a signature of 300 seconds ago': `t=${T - 300},v1=${hexOf(T - 300, BODY)}`,
    'a signature of 300 seconds ahead': `t=${T + 300},v1=${hexOf(T + 300, BODY)}`,
    'sixteen signatures': `t=${T}${`,v1=${'0'.repeat(64)}`.repeat(15)},v1=${good}`,
  }
  for (const [name, header] of Object.entries(accepted))
    test(name, () => assert.equal(verdictOn(header), 'genuine'))

  test('bytes that are not text', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x0a])

    assert.equal(verdictOn(signPayload(bytes, [SECRET], NOW), bytes), 'genuine')
  })
})

describe('verifyPayload refuses as malformed', () => {
  const good = hexOf(T, BODY)
  const malformed: Record<string, string | readonly string[] | undefined> = {
    'no header': undefined,
    'an empty header': '',
    'a header sent twice': [`t=${T}`, `v1=${good}`],
    'an empty list of headers': [],
    'a time alone': `t=${T}`,
    'a signature alone': `v1=${good}`,
    'two times': `t=${T},t=${T},v1=${good}`,
    'a time that is not a number': `t=abc,v1=${hexOf('NaN', BODY)}`,
    'a negative time': `t=-1,v1=${hexOf('-1', BODY)}`,
    'a time with trailing characters': `t=${T}abc,v1=${hexOf(T, BODY)}`,
    'a time of thirteen digits': `t=${T}000,v1=${hexOf(`${T}000`, BODY)}`,
    'an empty signature': `t=${T},v1=`,
    'a signature one digit too short': `t=${T},v1=${good.slice(1)}`,
    'a signature one digit too long': `t=${T},v1=${good}0`,
    'upper-case hex': `t=${T},v1=${good.toUpperCase()}`,
    base64: `t=${T},v1=${Buffer.from(good, 'hex').toString('base64')}`,
    'a v0 alone': `t=${T},v0=${good}`,
    'semicolons between the parts': `t=${T};v1=${good}`,
    'seventeen signatures': `t=${T}${`,v1=${good}`.repeat(17)}`,
    'ten thousand signatures': `t=${T}${`,v1=${good}`.repeat(10_000)}`,
  }
  for (const [name, header] of Object.entries(malformed))
    test(name, () => assert.equal(verdictOn(header), 'malformed'))
})

describe('verifyPayload refuses as mismatched', () => {
  const good = signPayload(BODY, [SECRET], NOW)
  const bodies: Record<string, Buffer> = {
    'one more space': Buffer.concat([BODY, Buffer.from(' ')]),
    'converted line endings': Buffer.from(BODY.toString().replace('\n', '\r\n')),
    'a byte order mark at the start': Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), BODY]),
    'another encoding': Buffer.from(BODY.toString(), 'utf16le'),
    'another body': Buffer.from('{}'),
    'no body': Buffer.alloc(0),
  }
  for (const [name, body] of Object.entries(bodies))
    test(name, () => assert.equal(verdictOn(good, body), 'mismatched'))

  test('another secret', () => {
    assert.equal(verdictOn(signPayload(BODY, ['other'], NOW)), 'mismatched')
  })

  test('a time changed after signing', () => {
    assert.equal(verdictOn(good.replace(`t=${T}`, `t=${T - 1}`)), 'mismatched')
  })

  test('one changed digit', () => {
    const last = good.at(-1) === '0' ? '1' : '0'

    assert.equal(verdictOn(good.slice(0, -1) + last), 'mismatched')
  })

  test('a blank secret, even when it was used to sign', () => {
    for (const blank of ['', ' ', '\t\n']) {
      const header = signPayload(BODY, [blank], NOW)

      assert.equal(verifyPayload(BODY, header, { secrets: ['', blank], now: NOW }), 'mismatched')
    }
  })
})

describe('verifyPayload refuses as untimely', () => {
  for (const distance of [-301, 301])
    test(`a signature ${distance} seconds away`, () => {
      const at = T + distance

      assert.equal(verdictOn(`t=${at},v1=${hexOf(at, BODY)}`), 'untimely')
    })

  test('a signature outside a narrower tolerance', () => {
    const header = signPayload(BODY, [SECRET], new Date(NOW.getTime() - 11_000))
    const check = { secrets: [SECRET], now: NOW, toleranceSeconds: 10 }

    assert.equal(verifyPayload(BODY, header, check), 'untimely')
  })
})
