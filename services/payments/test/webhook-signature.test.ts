import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Env } from '@plinth/kit/runtime'
import { signPayload } from '@plinth/kit/tokens'
import { shared } from './shared.ts'
import { engines, startPayments, WEBHOOK_SECRET } from './start-payments.ts'

const PATH = '/api/provider/webhook'
const EVENT = {
  id: 'evt_1',
  object: 'event',
  type: 'customer.created',
  created: 1_893_456_000,
  livemode: false,
  data: { object: { id: 'cus_1', object: 'customer', note: 'ü / "quoted"' } },
}
const BODY = JSON.stringify(EVENT)
const PRETTY = JSON.stringify(EVENT, null, 2)
const NOW = Date.parse('2030-01-01T00:00:00.000Z') / 1000

type Scope = { after(work: () => void): void }

type Sent = {
  body?: string | Buffer
  header?: string | string[]
  headerName?: string
  headers?: Record<string, string>
  method?: string
  status?: number
}

const hmac = (signed: string | Buffer, secret = WEBHOOK_SECRET) =>
  createHmac('sha256', secret).update(signed)
const v1 = (body: string | Buffer, t: string | number = NOW, secret = WEBHOOK_SECRET) =>
  hmac(`${t}.`, secret).update(body).digest('hex')
const signed = (body: string | Buffer, t: string | number = NOW, secret = WEBHOOK_SECRET) =>
  `t=${t},v1=${v1(body, t, secret)}`
const withBody = (body: string | Buffer): Sent => ({ body, header: signed(body) })
const flip = (hex: string) => (hex.startsWith('0') ? '1' : '0') + hex.slice(1)
const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

// The last signature is right, but no honest sender sends so many.
const signedTimes = (count: number) =>
  `t=${NOW}${`,v1=${v1(PRETTY)}`.repeat(count - 1)},v1=${v1(BODY)}`

/** Each is refused with 400 unless it has another `status`, and leaves no trace. */
const REFUSED: Record<string, Sent> = {
  'no header': {},
  'an empty header': { header: '' },
  't only': { header: `t=${NOW}` },
  'v1 only': { header: `v1=${v1(BODY)}` },
  'the wrong secret': { header: signed(BODY, NOW, 'whsec_other') },
  'one flipped hex digit': { header: `t=${NOW},v1=${flip(v1(BODY))}` },
  'a v1 of 63 characters': { header: `t=${NOW},v1=${v1(BODY).slice(1)}` },
  'a v1 of 65 characters': { header: `t=${NOW},v1=${v1(BODY)}0` },
  'upper-case hex': { header: `t=${NOW},v1=${v1(BODY).toUpperCase()}` },
  'base64 instead of hex': {
    header: `t=${NOW},v1=${hmac(`${NOW}.${BODY}`).digest('base64')}`,
  },
  'only v0 correct': { header: `t=${NOW},v0=${v1(BODY)}` },
  'an empty v1': { header: `t=${NOW},v1=` },
  't=abc, signed as such': { header: signed(BODY, 'abc') },
  't=-1': { header: signed(BODY, -1) },
  't with letters after it': { header: signed(BODY, `${NOW}abc`) },
  't in milliseconds': { header: signed(BODY, NOW * 1000) },
  '301 seconds old': { header: signed(BODY, NOW - 301) },
  '301 seconds ahead': { header: signed(BODY, NOW + 301) },
  't changed after signing': { header: `t=${NOW + 1},v1=${v1(BODY)}` },
  'two different t': { header: `t=${NOW},t=${NOW + 1},v1=${v1(BODY)}` },
  'a body with one extra space': { body: `${BODY} `, header: signed(BODY) },
  'a trailing newline added': { body: `${BODY}\n`, header: signed(BODY) },
  'a re-serialised body': {
    body: JSON.stringify(Object.fromEntries(Object.entries(EVENT).reverse())),
    header: signed(BODY),
  },
  'line ends converted': { body: PRETTY.replaceAll('\n', '\r\n'), header: signed(PRETTY) },
  'a BOM prepended after signing': { body: `\ufeff${BODY}`, header: signed(BODY) },
  'a UTF-16 body': withBody(Buffer.from(BODY, 'utf16le')),
  'the signature of another body': { header: signed(PRETTY) },
  'a gzip body signed uncompressed': {
    body: gzipSync(BODY),
    header: signed(BODY),
    headers: { 'content-encoding': 'gzip' },
  },
  'a signed empty body': withBody(''),
  'a signed body that is not JSON': withBody('not-json'),
  '31a signed null': withBody('null'),
  '31b signed []': withBody('[]'),
  '31c signed 1': withBody('1'),
  '31d signed "x"': withBody('"x"'),
  '32a an event without id': withBody(JSON.stringify({ ...EVENT, id: undefined })),
  '32b an event without type': withBody(JSON.stringify({ ...EVENT, type: undefined })),
  '32c an id that is a number': withBody(JSON.stringify({ ...EVENT, id: 7 })),
  '32d a blank id': withBody(JSON.stringify({ ...EVENT, id: '  ' })),
  '32e an id of 256 characters': withBody(JSON.stringify({ ...EVENT, id: 'e'.repeat(256) })),
  '32f an id with NUL': withBody(JSON.stringify({ ...EVENT, id: 'evt\u0000' })),
  'truncated JSON': withBody(BODY.slice(0, -1)),
  'invalid UTF-8': withBody(Buffer.concat([Buffer.from(BODY), Buffer.from([0xff])])),
  semicolons: { header: signed(BODY).replace(',', ';') },
  'a header split in two': { header: [`t=${NOW}`, `v1=${v1(BODY)}`] },
  '37a ten thousand v1 entries': { header: signedTimes(10_000), status: 431 },
  '37b a hundred v1 entries': { header: signedTimes(100) },
  'a signature under another name': { header: signed(BODY), headerName: 'X-Provider-Signature' },
  '39a text/plain': { header: signed(BODY), headers: { 'content-type': 'text/plain' } },
  '39c a content type that is none': {
    header: signed(BODY),
    headers: { 'content-type': 'garbage' },
  },
  '39b no content type': { header: signed(BODY), headers: { 'content-type': '' } },
  'a body over the limit': { ...withBody(Buffer.alloc(2 ** 20 + 1, ' ')), status: 413 },
  '41a GET': { method: 'GET', body: '', header: signed(BODY), status: 405 },
  '41b PUT': { method: 'PUT', header: signed(BODY), status: 405 },
  'signed with an empty key': { header: signed(BODY, NOW, '') },
  '45a JSON nested a hundred thousand deep': withBody(deep(100_000)),
  '45c an event nested ten thousand deep': withBody(
    JSON.stringify({ ...EVENT, data: { object: { id: 'o' } } }).replace(
      '{"id":"o"}',
      `{"id":"o","a":${deep(10_000)}}`,
    ),
  ),
  '45b an event with a __proto__ key and no object': withBody(
    '{"__proto__":{"id":"evt_1","type":"x"},"data":{}}',
  ),
  'a thin event': withBody(JSON.stringify({ ...EVENT, object: 'v2.core.event' })),
}

/** Each delivery has its own event: `body` on one line, `pretty` on many. */
type Genuine = { body: string; pretty: string }

const ACCEPTED: Record<string, (event: Genuine) => Sent> = {
  'one good signature': ({ body }) => withBody(body),
  'the second of two v1': ({ body, pretty }) => ({
    body,
    header: `t=${NOW},v1=${v1(pretty)},v1=${v1(body)}`,
  }),
  'a v0 beside the v1': ({ body }) => ({ body, header: `${signed(body)},v0=${'0'.repeat(64)}` }),
  'v1 before t': ({ body }) => ({ body, header: `v1=${v1(body)},t=${NOW}` }),
  'a pretty-printed body': ({ pretty }) => withBody(pretty),
  'escaped slashes and characters': ({ body }) =>
    withBody(body.replaceAll('/', '\\/').replaceAll('ü', '\\u00fc')),
  'chunked transfer': ({ body }) => ({
    ...withBody(body),
    headers: { 'transfer-encoding': 'chunked' },
  }),
  '300 seconds old': ({ body }) => ({ body, header: signed(body, NOW - 300) }),
  '300 seconds ahead': ({ body }) => ({ body, header: signed(body, NOW + 300) }),
  'the previous secret while a new one is rolled out': ({ body }) => ({
    body,
    header: signed(body, NOW, 'whsec_that_was_before'),
  }),
  'a body of 200 KiB': ({ body }) =>
    withBody(body.replace('"note"', `"pad":"${'p'.repeat(200 * 1024)}","note"`)),
  'an upper-case header name': ({ body }) => ({
    ...withBody(body),
    headerName: 'PROVIDER-SIGNATURE',
  }),
  "the provider's own header name": ({ body }) => ({
    ...withBody(body),
    headerName: 'Stripe-Signature',
  }),
  'a charset in the content type': ({ body }) => ({
    ...withBody(body),
    headers: { 'content-type': 'application/json; charset=utf-8' },
  }),
  'a content type in capitals': ({ body }) => ({
    ...withBody(body),
    headers: { 'content-type': 'Application/JSON' },
  }),
  'space after the comma': ({ body }) => ({ body, header: signed(body).replace(',', ', ') }),
}

for (const engine of engines)
  describe(`the signature of POST /api/provider/webhook on ${engine.name}`, engine.options, () => {
    const secrets = { PROVIDER_WEBHOOK_SECRET_PREVIOUS: 'whsec_that_was_before' }
    const service = shared(async (scope) =>
      startPayments(scope, { env: secrets, databaseUrl: await engine.freshUrl(scope) }),
    )
    const start = async (t: Scope, env: Env = {}) =>
      startPayments(t, { env, databaseUrl: await engine.freshUrl(t) })

    for (const [name, sent] of Object.entries(REFUSED))
      test(`refuses ${name}`, async () => {
        const { baseUrl, api } = service()

        const reply = await post(baseUrl, sent)

        assert.equal(reply.status, sent.status ?? 400)
        assert.equal(reply.type, 'application/problem+json')
        assert.doesNotMatch(reply.text, /whsec|stripe/i)
        assert.equal((await api.get('/api/webhook-events')).body.totalElements, 0)
      })

    for (const [index, [name, sentBy]] of Object.entries(ACCEPTED).entries())
      test(`accepts ${name}`, async () => {
        const { baseUrl, api } = service()
        const event = { ...EVENT, id: `evt_accepted_${index}` }

        const reply = await post(
          baseUrl,
          sentBy({ body: JSON.stringify(event), pretty: JSON.stringify(event, null, 2) }),
        )

        assert.equal(reply.status, 200, reply.text)
        const { eventId, status, duplicate } = JSON.parse(reply.text)
        assert.deepEqual([eventId, status, duplicate], [event.id, 'IGNORED', false])
        const { content } = (await api.get('/api/webhook-events?size=100')).body
        assert.ok(content.some(({ id }: { id: string }) => id === event.id))
      })

    test('is 503 while no secret is set, even with a bad signature', async (t) => {
      const { baseUrl } = await start(t, { PROVIDER_WEBHOOK_SECRET: undefined })

      const reply = await post(baseUrl, { header: 't=1,v1=bad' })

      assert.equal(reply.status, 503)
      assert.equal(JSON.parse(reply.text).title, 'Provider is not configured')
    })

    test('treats a blank secret as no secret', async (t) => {
      const { baseUrl, api } = await start(t, { PROVIDER_WEBHOOK_SECRET: '  ' })

      assert.equal((await post(baseUrl, { header: signed(BODY, NOW, '  ') })).status, 503)
      assert.equal((await api.get('/api/configuration')).body.webhookConfigured, false)
    })

    test('is 400 for a missing header even while no secret is set', async (t) => {
      const { baseUrl } = await start(t, { PROVIDER_WEBHOOK_SECRET: '' })

      assert.equal((await post(baseUrl, {})).status, 400)
    })

    test('is the same as the one the provider itself sends', async (t) => {
      const { default: Stripe } = await import('stripe')
      const { baseUrl } = await start(t)
      const header = Stripe.webhooks.generateTestHeaderString({
        payload: BODY,
        secret: WEBHOOK_SECRET,
        timestamp: NOW,
      })

      assert.equal(
        header.split(',v0=')[0],
        signPayload(BODY, [WEBHOOK_SECRET], new Date(NOW * 1000)),
      )
      assert.equal((await post(baseUrl, { header })).status, 200)
    })
  })

/** Plain node:http, because fetch would repair headers that must stay broken. */
function post(baseUrl: string, sent: Sent) {
  const { body = BODY, header, headerName = 'Provider-Signature', method = 'POST' } = sent
  const headers: Record<string, string | string[]> = {
    'content-type': 'application/json',
    ...sent.headers,
  }
  if (header !== undefined) headers[headerName] = header
  if (headers['content-type'] === '') delete headers['content-type']
  if (headers['transfer-encoding'] === undefined)
    headers['content-length'] = String(Buffer.byteLength(body))
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number
    type: string
    text: string
  }>()
  const call = httpRequest(
    `${baseUrl}${PATH}`,
    { method, headers, maxHeaderSize: 2 ** 20 },
    async (reply) => {
      const chunks = await reply.toArray()
      const text = Buffer.concat(chunks).toString('utf8')
      const type = String(reply.headers['content-type'])
      resolve({ status: reply.statusCode ?? 0, type, text })
    },
  )
  call.on('error', reject)
  call.end(body)
  return promise
}
