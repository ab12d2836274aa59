import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { faultOfUrl, forbiddenBy } from '@plinth/kit/runtime'

import { engines, startEvents, startReceiver } from '../../testing/index.ts'
import { createSender } from '../delivery/send.ts'

const PATH = '/api/webhooks/endpoints'
const PRODUCTION = { production: true, allowCidrs: [] }

const MAX_URL = 'https://93.184.215.14/'.padEnd(2048, 'a')
const HOSTILE = [
  'http://shop.example/hook',
  'ftp://shop.example/hook',
  'file:///etc/passwd',
  'not an address',
  'https://',
  'https://user:secret@93.184.215.14/',
  'https://93.184.215.14/#fragment',
  ' https://93.184.215.14/',
  'https://93.184.215.14/a b',
  'https://localhost/',
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0177.0.0.1/',
  'https://0.0.0.0/',
  'https://10.1.2.3/',
  'https://100.64.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://172.16.0.1/',
  'https://192.168.1.1/',
  'https://198.18.0.1/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://[::]/',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:a9fe:a9fe]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b:1::7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001:0:7f00:1::]/',
  'https://[fe80::1]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[ff02::1]/',
  'https://[2001:db8::1]/',
  'https://no-such-host.invalid/',
  'https://user@93.184.215.14/',
  'https://:password@93.184.215.14/',
  `${MAX_URL}a`,
]

describe('where events may be sent in production', () => {
  for (const url of HOSTILE)
    test(`not to ${url.slice(0, 60)}`, async () => {
      assert.notEqual(await faultOfUrl(url, PRODUCTION), undefined)
    })

  test('to addresses on the internet, and to networks that an operator allows', async () => {
    const allowing = { production: true, allowCidrs: ['10.1.0.0/16', 'fd00:1::/32'] }

    assert.equal(await faultOfUrl('https://93.184.215.14/hook?a=b', PRODUCTION), undefined)
    assert.equal(await faultOfUrl('https://[2606:4700::1111]:8443/', PRODUCTION), undefined)
    assert.equal(await faultOfUrl(MAX_URL, PRODUCTION), undefined)
    assert.equal(await faultOfUrl('https://10.1.2.3/', allowing), undefined)
    assert.equal(await faultOfUrl('https://[fd00:1::7]/', allowing), undefined)
    assert.notEqual(await faultOfUrl('https://10.2.0.1/', allowing), undefined)
  })

  test('in development also to this machine over http, but to no other internal address', async () => {
    const rules = { production: false, allowCidrs: [] }

    assert.equal(await faultOfUrl('http://127.0.0.1:3000/', rules), undefined)
    assert.notEqual(await faultOfUrl('http://192.168.1.1/', rules), undefined)
    assert.notEqual(await faultOfUrl('http://169.254.169.254/', rules), undefined)
  })

  test('not to a name that resolves to an internal address when the connection is made', async (t) => {
    const receiver = await startReceiver(t)
    const { port } = new URL(receiver.url)
    // The address was allowed when the endpoint was created, but no longer is when connecting.
    const { send, close } = createSender({ production: false, allowCidrs: [] }, 1000)
    const strict = createSender({ production: true, allowCidrs: [] }, 1000)
    t.after(() => {
      close()
      strict.close()
    })
    const request = { headers: {}, body: '{"type":"x"}', signal: new AbortController().signal }

    const open = await send(`http://localhost:${port}/hook`, request)
    const refused = await Promise.all([
      strict.send(`https://localhost:${port}/hook`, request),
      strict.send(`https://127.0.0.1:${port}/hook`, request),
      strict.send(`http://localhost:${port}/hook`, request),
    ])

    assert.equal(open.status, 204)
    assert.deepEqual(
      refused.map(({ error }) => error),
      [
        'the address is not on the internet',
        'the address is not on the internet',
        'the address is not https',
      ],
    )
    assert.equal(receiver.all.length, 1)
  })

  test('an endless reply is cut off, and its beginning is kept', async (t) => {
    const server = createServer((_request, response) => {
      const write = () => {
        while (response.write('x'.repeat(16_384)));
      }
      response.on('drain', write)
      write()
    }).listen(0, '127.0.0.1')
    const { send, close } = createSender({ production: false, allowCidrs: [] }, 5000)
    t.after(() => {
      close()
      server.closeAllConnections()
      server.close()
    })
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const request = { headers: {}, body: '{}', signal: new AbortController().signal }

    const { status, error, reply } = await send(`http://127.0.0.1:${port}/`, request)

    assert.deepEqual([status, error, reply], [200, null, 'x'.repeat(1024)])
  })

  test('not to special-purpose networks, but to the addresses next to them', () => {
    const isForbidden = forbiddenBy(PRODUCTION)

    for (const address of ['9.255.255.255', '11.0.0.0', '172.15.255.255', '172.32.0.0'])
      assert.equal(isForbidden(address), false, address)
    for (const address of ['100.127.255.255', '192.0.0.8', '203.0.113.9', '240.0.0.1'])
      assert.equal(isForbidden(address), true, address)
  })
})

for (const engine of engines)
  describe(`endpoints on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext) => startEvents(t, { url: await engine.freshUrl(t) })

    test('the secret is in the reply to the creation, and sealed in the database', async (t) => {
      const { api, db } = await start(t)
      const made = await api.post(PATH, { url: 'http://127.0.0.1:1/', description: 'shop' })

      assert.equal(made.status, 201)
      assert.equal(made.headers.get('location'), `${PATH}/${made.body.id}`)
      assert.match(made.body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
      const listed = (await api.get(PATH)).body
      assert.deepEqual([listed.length, listed[0].secret], [1, undefined])
      const [row] = await db.selectFrom('event_endpoints').selectAll().execute()
      assert.ok(!JSON.stringify(row).includes(made.body.secret.slice(6)))
      const shown = await api.get(`${PATH}/${made.body.id}/secret`)
      assert.equal(shown.body.secret, made.body.secret)
    })

    test('changes to an endpoint are in the audit, without the path of its address', async (t) => {
      const { api, audit } = await start(t)
      const { body } = await api.post(PATH, { url: 'http://127.0.0.1:1/a-secret-path' })
      const path = `${PATH}/${body.id}`

      await api.get(`${path}/secret`)
      await api.post(`${path}/rotate-secret`)
      await api.post(`${path}/test`)
      await api.patch(path, { state: 'paused' })
      await api.delete(path)

      assert.deepEqual(
        audit.map(({ event }) => event),
        [
          'WEBHOOK_ENDPOINT_CREATED',
          'WEBHOOK_SECRET_SHOWN',
          'WEBHOOK_SECRET_ROTATED',
          'WEBHOOK_ENDPOINT_TESTED',
          'WEBHOOK_ENDPOINT_CHANGED',
          'WEBHOOK_ENDPOINT_DELETED',
        ],
      )
      assert.ok(
        audit.every(({ subject }) => subject === `endpoint ${body.id} (http://127.0.0.1:1)`),
      )
    })

    test('a change takes only the members that can be changed, and ignores the others', async (t) => {
      const { api, db } = await start(t)
      const first = (await api.post(PATH, { url: 'http://127.0.0.1:1/' })).body
      const second = (await api.post(PATH, { url: 'http://127.0.0.1:2/' })).body
      const rows = () => db.selectFrom('event_endpoints').selectAll().orderBy('url').execute()
      const before = await rows()

      const replies = [
        await api.patch(`${PATH}/${first.id}`, { ...first, description: 'shop' }),
        await api.patch(`${PATH}/${first.id}`, { id: second.id, secret: 'x', createdBy: 'root' }),
        await api.patch(`${PATH}/${first.id}`, {
          foo: 1,
          status: 'paused',
          types: ['ping', 'ping'],
        }),
      ]

      assert.deepEqual(
        replies.map(({ status }) => status),
        [200, 200, 200],
      )
      assert.deepEqual(replies[2]?.body.types, ['ping'])
      const change = { description: 'shop', types: JSON.stringify(['ping']) }
      assert.deepEqual(await rows(), [{ ...before[0], ...change }, before[1]])
      const { body } = await api.get(`${PATH}/${first.id}/secret`)
      assert.equal(body.secret, first.secret)
    })

    test('a forbidden address is refused when an endpoint is created or changed', async (t) => {
      const { api } = await start(t)
      const { body } = await api.post(PATH, { url: 'http://127.0.0.1:1/' })

      const made = await api.post(PATH, { url: 'http://169.254.169.254/' })
      const changed = await api.patch(`${PATH}/${body.id}`, { url: 'http://10.0.0.1/' })

      assert.deepEqual([made.status, made.body.code], [400, 'URL_NOT_ALLOWED'])
      assert.deepEqual([changed.status, changed.body.code], [400, 'URL_NOT_ALLOWED'])
      assert.equal((await api.get(`${PATH}/${body.id}`)).body.url, 'http://127.0.0.1:1/')
    })

    test('only twenty of thirty concurrent requests create an endpoint', async (t) => {
      const { api } = await start(t)

      const replies = await Promise.all(
        Array.from({ length: 30 }, () => api.post(PATH, { url: 'http://127.0.0.1:1/' })),
      )

      const refused = replies.filter(({ status }) => status === 409)
      assert.equal(refused.length, 10)
      assert.equal(refused[0]?.body.code, 'TOO_MANY_ENDPOINTS')
      assert.equal((await api.get(PATH)).body.length, 20)
    })

    test('unknown types, ids and states are refused', async (t) => {
      const { api } = await start(t)
      const url = 'http://127.0.0.1:1/'
      const { body } = await api.post(PATH, { url })

      for (const type of ['thing.eaten', 'constructor', 'toString'])
        assert.equal((await api.post(PATH, { url, types: [type] })).status, 400, type)
      assert.equal((await api.patch(`${PATH}/${body.id}`, { state: 'disabled' })).status, 400)
      for (const [method, path] of [
        ['GET', `${PATH}/ep_1`],
        ['DELETE', `${PATH}/ep_1`],
        ['GET', `${PATH}/ep_1/secret`],
        ['POST', `${PATH}/ep_1/test`],
      ] as const)
        assert.equal((await api.request(method, path)).status, 404, path)
    })

    test('an id or address that contains NUL is refused', async (t) => {
      const { api } = await start(t)
      const since = '2030-01-01T00:00:00Z'

      const replies = await Promise.all([
        api.get(`${PATH}/%00`),
        api.delete(`${PATH}/%00`),
        api.patch(`${PATH}/%00`, { state: 'paused' }),
        api.post(`${PATH}/%00/test`),
        api.post(`${PATH}/%00/recover`, { since }),
        api.post(PATH, { url: 'http://127.0.0.1:1/\0' }),
      ])

      for (const { status, body } of replies)
        assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR'])
    })
  })
