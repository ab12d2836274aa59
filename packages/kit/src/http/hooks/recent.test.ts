import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogger } from '../../logging.ts'
import { callerGuard } from '../guards.ts'
import { createServer } from '../server.ts'

const ada = { userId: '1', username: 'ada', roles: [], sessionId: '' }

function serverHere() {
  const server = createServer({
    log: createLogger('test', 'silent'),
    clock: () => new Date(0),
    host: 'localhost',
    publicUrl: 'http://localhost',
  })
  server.get('/things/:id', { onRequest: [callerGuard(async () => ada).caller] }, async () => 'yes')
  server.get('/actuator/health', async () => 'UP')
  return server
}

const headers = { host: 'localhost', authorization: 'Bearer secret' }

test('the last requests have a route and a caller, and no path, query or secret', async () => {
  const server = serverHere()

  await server.inject({ url: '/things/7?token=secret', headers })
  await server.inject({ url: '/unknown/secret', headers })
  await server.inject({ url: '/actuator/health', headers })

  const recent = server.recentRequests()
  assert.deepEqual(
    recent.map(({ method, route, status, who }) => [method, route, status, who]),
    [
      ['GET', '/things/{id}', 200, 'ada'],
      ['GET', undefined, 404, undefined],
    ],
  )
  assert.doesNotMatch(JSON.stringify(recent), /secret/)
})

test('two hundred requests are kept and no more', async () => {
  const server = serverHere()

  for (let index = 0; index < 210; index += 1) await server.inject({ url: '/things/7', headers })

  assert.equal(server.recentRequests().length, 200)
})

test('a request that was announced is left out, once', async () => {
  const server = serverHere()
  const asked = { url: '/things/7', headers: { ...headers, 'x-request-id': 'mine' } }

  server.leaveOutOfRecent('mine')
  await server.inject(asked)
  const first = server.recentRequests()
  await server.inject(asked)

  assert.deepEqual(first, [])
  assert.equal(server.recentRequests().length, 1)
})
