import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { listenForTest } from '../../../testing/listen.ts'
import { createLogger } from '../../logging.ts'
import { systemClock } from '../../runtime/clock.ts'
import { createServer, type ServerOptions } from '../server.ts'
import { basePathOf, targetOf } from './base-path.ts'
import { hostPathOf, mountServers } from './mounts.ts'

const bare = (options: Partial<ServerOptions> = {}) =>
  createServer({ log: createLogger('test', 'silent'), clock: systemClock, ...options })

type Options = { suite?: Partial<ServerOptions>; child?: Partial<ServerOptions> }

async function start(t: TestContext, { suite: address = {}, child: options = {} }: Options = {}) {
  const child = bare(options)
  child.get('/where', (request) => ({
    basePath: basePathOf(request),
    hostPath: hostPathOf(request),
    target: targetOf(request),
    baseUrl: child.baseUrlOf(request),
    address: request.ip,
  }))
  child.get('/.well-known/example', () => ({ served: 'by the child' }))
  child.get('/.well-known/webauthn', () => ({ origins: [] }))
  child.post('/echo', (request) => request.body)
  const suite = bare(address)
  suite.get('/own', () => 'own')
  mountServers(suite, address, [{ path: '/child', server: child }])
  return { direct: await listenForTest(t, child), ...(await listenForTest(t, suite)) }
}

describe('a server mounted on another', () => {
  test('gets the target without the mount path, and knows its base path', async (t) => {
    const { api, baseUrl } = await start(t)

    const { body } = await api.get('/child/where?a=b')

    const { address, ...where } = body
    assert.deepEqual(where, {
      basePath: '/child',
      hostPath: '',
      target: '/where?a=b',
      baseUrl: `${baseUrl}/child`,
    })
    assert.equal(address, '127.0.0.1')
  })

  test('is found by a target in absolute form, too', async (t) => {
    const { port, baseUrl } = await start(t)

    const call = request({ port, path: `${baseUrl}/child/where?a=b` }).end()
    const [reply] = await once(call, 'response')

    assert.equal(reply.statusCode, 200)
    assert.equal(JSON.parse((await reply.toArray()).join('')).target, '/where?a=b')
  })

  test('still answers under its own address', async (t) => {
    const { direct } = await start(t)

    const { body } = await direct.api.get('/where')

    assert.deepEqual([body.basePath, body.hostPath], ['', undefined])
    assert.equal((await direct.api.get('/child/where')).status, 404)
  })

  test('leaves everything else to the other server', async (t) => {
    const { api } = await start(t)

    assert.equal((await api.get('/own')).body, 'own')
    for (const path of ['/where', '/childless/where', '/child%2Fwhere', '//child/where'])
      assert.equal((await api.get(path)).status, 404, path)
  })

  test('appends its mount path to the base path of the other, whether a proxy has stripped it or not', async (t) => {
    const suite = { publicUrl: 'https://app.example/suite', trustedProxies: ['loopback'] }
    const child = { publicUrl: 'https://app.example/suite/child', trustedProxies: ['loopback'] }
    const { api } = await start(t, { suite, child })

    for (const path of ['/suite/child/where', '/child/where']) {
      const { body } = await api.get(path)
      assert.deepEqual([body.basePath, body.hostPath], ['/suite/child', '/suite'], path)
    }
    const headers = { 'x-forwarded-prefix': '/elsewhere', forwarded: 'for=192.0.2.7;proto=https' }
    const { body } = await api.get('/child/where', { headers })
    assert.equal(body.basePath, '/elsewhere/child')
  })

  test('trusts Forwarded from a proxy that the other trusts', async (t) => {
    const trusting = { trustedProxies: ['loopback'] }
    const { api } = await start(t, { suite: trusting, child: trusting })

    const headers = { forwarded: 'for=192.0.2.7;proto=https;host=app.example' }
    const { body } = await api.get('/child/where', { headers })

    assert.deepEqual([body.address, body.baseUrl], ['192.0.2.7', 'https://app.example/child'])
  })

  test('serves its well-known documents where RFC 8414 expects those of a path', async (t) => {
    const { api } = await start(t)

    const known = await api.get('/.well-known/example/child')

    assert.deepEqual([known.status, known.body], [200, { served: 'by the child' }])
    assert.equal((await api.get('/.well-known/webauthn')).status, 200)
    assert.equal((await api.get('/.well-known/example')).status, 404)
    assert.equal((await api.get('/.well-known/unknown/child')).status, 404)
  })

  test('reads the body of a client that sends Expect: 100-continue', async (t) => {
    const { port } = await start(t)
    const headers = { 'content-type': 'application/json', expect: '100-continue' }
    const call = request({ port, path: '/child/echo', method: 'POST', headers }).on(
      'continue',
      () => call.end('{"a":1}'),
    )
    call.flushHeaders()

    const [reply] = await once(call, 'response')

    assert.equal(reply.statusCode, 200)
    assert.equal((await reply.toArray()).join(''), '{"a":1}')
  })
})
