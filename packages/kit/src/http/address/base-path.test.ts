import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { listenForTest } from '../../../testing/listen.ts'
import { createLogger } from '../../logging.ts'
import { notFound } from '../../problems.ts'
import { systemClock } from '../../runtime/clock.ts'
import { createServer, type ServerOptions } from '../server.ts'
import { basePathOf, targetOf } from './base-path.ts'

const PUBLIC_URL = 'https://app.example/identity'

async function start(t: TestContext, options: Partial<ServerOptions>) {
  const server = createServer({
    log: createLogger('test', 'silent'),
    clock: systemClock,
    ...options,
  })
  server.get('/api/where', (request) => ({
    basePath: basePathOf(request),
    target: targetOf(request),
    baseUrl: server.baseUrlOf(request),
    ip: request.ip,
    protocol: request.protocol,
  }))
  server.get('/api/missing', () => {
    throw notFound()
  })
  return listenForTest(t, server)
}

describe('a target in absolute form', () => {
  for (const publicUrl of [undefined, PUBLIC_URL])
    test(`means its path, with the public URL ${publicUrl}`, async (t) => {
      const { port } = await start(t, { publicUrl })
      const base = publicUrl ? '/identity' : ''

      const found = await ask(port, 'GET', `http://localhost:${port}/api/where?a=b`)
      const missing = await ask(port, 'GET', `http://localhost:${port}/nope?a=b`)
      const wrongMethod = await ask(port, 'POST', 'HTTP://localhost/api/where')

      assert.deepEqual([found.status, found.body.target], [200, '/api/where?a=b'])
      assert.deepEqual([missing.status, missing.body.instance], [404, `${base}/nope`])
      assert.deepEqual([wrongMethod.status, wrongMethod.body.instance], [405, `${base}/api/where`])
    })
})

/** Sends the target as it is: other clients would send only its path. */
async function ask(port: number, method: string, target: string) {
  const [reply] = await once(request({ port, method, path: target }).end(), 'response')
  return { status: reply.statusCode, body: (await json(reply)) as Record<string, unknown> }
}

describe('the path of the public URL', () => {
  test('is the base path, whether a proxy has stripped it or not', async (t) => {
    const { api } = await start(t, { publicUrl: PUBLIC_URL })

    for (const path of ['/api/where?a=b', '/identity/api/where?a=b']) {
      const { body } = await api.get(path)
      assert.deepEqual([body.basePath, body.target], ['/identity', '/api/where?a=b'], path)
    }
  })

  test('is removed once, and only as whole segments', async (t) => {
    const { api } = await start(t, { publicUrl: PUBLIC_URL })

    for (const path of [
      '/identity/identity/api/where',
      '/identityapi/where',
      '/identity-api/where',
    ])
      assert.equal((await api.get(path)).status, 404, path)
  })

  test('is part of the path in a problem', async (t) => {
    const { api } = await start(t, { publicUrl: PUBLIC_URL })

    for (const path of ['/api/missing?x', '/identity/api/missing?x', '/identity/none', '/none']) {
      const { status, body } = await api.get(path)
      const asked = path.replace(/^\/identity/, '').replace('?x', '')
      assert.deepEqual([status, body.instance], [404, `/identity${asked}`], path)
    }
    assert.equal((await api.get('/identity/%')).status, 400)
  })

  test('may begin like a path of the service', async (t) => {
    const { api } = await start(t, { publicUrl: 'https://app.example/api' })

    for (const path of ['/api/where', '/api/api/where'])
      assert.equal((await api.get(path)).body.target, '/api/where', path)
  })

  test('may have several segments and end with a slash', async (t) => {
    const { api } = await start(t, { publicUrl: 'https://app.example/a/b/' })

    const { body } = await api.get('/a/b/api/where')

    assert.deepEqual([body.basePath, body.target], ['/a/b', '/api/where'])
  })
})

describe('X-Forwarded-Prefix', () => {
  const prefixOf = async (t: TestContext, given: string, options: Partial<ServerOptions>) => {
    const { api } = await start(t, options)
    const headers = { 'x-forwarded-prefix': given }
    return (await api.get('/api/where', { headers })).body.basePath
  }
  const trustedProxies = ['loopback']

  test('of a trusted proxy takes precedence over the path of the public URL', async (t) => {
    const options = { publicUrl: PUBLIC_URL, trustedProxies }

    assert.equal(await prefixOf(t, '/shop/', options), '/shop')
    assert.equal(await prefixOf(t, '/outer, /inner', options), '/outer/inner')
    assert.equal(await prefixOf(t, '/', options), '')
  })

  test('of anyone else is ignored', async (t) => {
    assert.equal(await prefixOf(t, '/shop', {}), '')
    assert.equal(await prefixOf(t, '/shop', { trustedProxies: ['10.0.0.0/8'] }), '')
    assert.equal(await prefixOf(t, '/shop', { publicUrl: PUBLIC_URL }), '/identity')
  })

  test('that is not a plain path is ignored', async (t) => {
    for (const given of ['//evil.example', 'shop', '/a/../b', '/a;Domain=b', '/a b', 'https://a/b'])
      assert.equal(await prefixOf(t, given, { trustedProxies }), '', given)
  })

  test('removes nothing from the target', async (t) => {
    const { api } = await start(t, { trustedProxies })

    const headers = { 'x-forwarded-prefix': '/shop' }

    assert.equal((await api.get('/shop/api/where', { headers })).status, 404)
  })
})

describe('X-Forwarded-For', () => {
  for (const [chain, client] of [
    ['192.0.2.1:51234', '192.0.2.1'],
    ['[2001:db8::17]:4711', '2001:db8::17'],
    ['2001:db8::17', '2001:db8::17'],
    ['6.6.6.6, 192.0.2.1:80, 10.0.0.7:443', '192.0.2.1'],
  ] as const)
    test(`${chain} yields one client address, without its port`, async (t) => {
      const { api } = await start(t, { trustedProxies: ['loopback', '10.0.0.0/8'] })

      const { body } = await api.get('/api/where', { headers: { 'x-forwarded-for': chain } })

      assert.equal(body.ip, client)
    })
})

describe('Forwarded (RFC 7239)', () => {
  const seen = async (t: TestContext, forwarded: string, more: Record<string, string> = {}) => {
    const { api, baseUrl } = await start(t, { trustedProxies: ['loopback', '10.0.0.0/8'] })
    const { body } = await api.get('/api/where', { headers: { forwarded, ...more } })
    return { ...body, here: baseUrl }
  }

  test('gives the address of the client and the URL it used', async (t) => {
    const { ip, protocol, baseUrl } = await seen(
      t,
      'for="[2001:db8::17]:4711";Proto=https;host="app.example:8443"',
    )

    assert.deepEqual([ip, protocol], ['2001:db8::17', 'https'])
    assert.equal(baseUrl, 'https://app.example:8443')
  })

  test('is trusted only as far as its hops are', async (t) => {
    const made = 'for=6.6.6.6;host=evil.example;proto=http'
    const outer = 'for=192.0.2.1:80;host=app.example;proto=https'
    const inner = 'for=10.0.0.7;host=inner.example;proto=http'

    const { ip, baseUrl } = await seen(t, `${made}, ${outer}, ${inner}`)

    assert.deepEqual([ip, baseUrl], ['192.0.2.1', 'https://app.example'])
  })

  test('is ignored next to X-Forwarded-…, or when it cannot be parsed', async (t) => {
    const forwarded = 'for=6.6.6.6;host=evil.example'
    const beside = await seen(t, forwarded, { 'x-forwarded-for': '192.0.2.1' })
    const broken = await seen(t, `${forwarded};"`)

    assert.deepEqual([beside.ip, beside.baseUrl], ['192.0.2.1', beside.here])
    assert.deepEqual([broken.ip, broken.baseUrl], ['127.0.0.1', broken.here])
  })

  test('of anyone but a trusted proxy is ignored', async (t) => {
    const { api, baseUrl } = await start(t, { publicUrl: 'http://a.example/x' })

    const headers = { forwarded: 'for=6.6.6.6;host=evil.example;proto=https' }
    const { body } = await api.get('/api/where', { headers })

    assert.deepEqual([body.ip, body.baseUrl], ['127.0.0.1', `${baseUrl}/x`])
  })
})

describe('the base URL', () => {
  const baseUrlFor = async (t: TestContext, host: string, options: Partial<ServerOptions> = {}) => {
    const { port } = await start(t, { publicUrl: PUBLIC_URL, ...options })
    // fetch does not let us set the Host header.
    const asked = get({ host: '127.0.0.1', port, path: '/api/where', headers: { host } })
    const [reply] = await once(asked, 'response')
    return ((await json(reply)) as { baseUrl: string }).baseUrl
  }

  test('never repeats an unknown Host', async (t) => {
    for (const host of ['evil.example', 'localhost.evil.example', 'app.example'])
      assert.equal(await baseUrlFor(t, host), PUBLIC_URL, host)
  })

  test('uses the Host if it is this machine, is allowed, or comes from a trusted proxy', async (t) => {
    const allowed = { allowedHosts: ['Box.example'] }
    const proxied = { trustedProxies: ['loopback'] }

    assert.equal(await baseUrlFor(t, 'localhost:8081'), 'http://localhost:8081/identity')
    assert.equal(await baseUrlFor(t, 'box.example', allowed), 'http://box.example/identity')
    assert.equal(await baseUrlFor(t, 'any.example', proxied), 'http://any.example/identity')
  })
})
