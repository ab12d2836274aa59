import assert from 'node:assert/strict'
import { Agent, get, request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type SpawnedService, spawnService } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { logIn, storageEnv, temporaryFolder, upload } from './start-storage.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const CONNECTIONS = 500
const FILES = 600
const ROUNDS = 5
// Before each kind of work had a share of an event loop turn, a reply took two minutes.
const TIMEOUT_MS = 20_000

test(`health checks are answered while ${CONNECTIONS} connections are busy`, async (t) => {
  const service = await spawnService(t, MAIN, {
    ...storageEnv(await temporaryFolder(t)),
    LOG_LEVEL: 'info',
  })
  const token = await logIn(service.api, 'user')
  for (let count = 0; count < FILES; count += 50)
    await Promise.all(Array.from({ length: 50 }, () => upload(service.api, token)))
  // A load balancer would also have asked before.
  await timed(service, '/readiness')
  const load = keepBusy(t, service, token)
  await load.allConnected

  const waits: number[] = []
  for (let round = 0; round < ROUNDS; round++)
    for (const path of ['/liveness', '/readiness', '']) waits.push(await timed(service, path))

  t.diagnostic(`the slowest reply took ${Math.max(...waits)} ms`)
  await until(() => load.answered() > 0)
})

/** How long the reply took; fails when it times out. */
async function timed({ baseUrl }: SpawnedService, path: string): Promise<number> {
  const begun = performance.now()
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const status = await new Promise((resolve, reject) => {
    get(`${baseUrl}/actuator/health${path}`, { agent: false, signal }, (reply) => {
      reply.resume().once('end', () => resolve(reply.statusCode))
    }).once('error', reject)
  })
  assert.equal(status, 200)
  return Math.round(performance.now() - begun)
}

const MEGABYTE = Buffer.concat([
  Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'),
  Buffer.from('Content-Type: text/plain\r\n\r\n'),
  Buffer.alloc(1_000_000, 'a'),
  Buffer.from('\r\n--b--\r\n'),
])

/** Each connection requests the whole list again and again; every fifth uploads a megabyte instead. */
function keepBusy(t: TestContext, { baseUrl }: SpawnedService, token: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const authorization = `Bearer ${token}`
  const form = { 'content-type': 'multipart/form-data; boundary=b' }
  let [stopped, answered, connected] = [false, 0, 0]
  const { promise: allConnected, resolve } = Promise.withResolvers<void>()
  const send = (sends: boolean) => {
    if (stopped) return
    const asked = sends
      ? request(`${baseUrl}/file`, {
          method: 'POST',
          agent,
          headers: { authorization, ...form, 'content-length': MEGABYTE.length },
        })
      : request(`${baseUrl}/file/list`, { agent, headers: { authorization } })
    asked.once('socket', (socket) => {
      if (!socket.connecting) return
      socket.once('connect', () => {
        connected += 1
        if (connected === CONNECTIONS) resolve()
      })
    })
    asked.once('response', (reply) => {
      reply.resume().once('end', () => {
        answered += 1
        send(sends)
      })
    })
    asked.on('error', () => {})
    asked.end(sends ? MEGABYTE : undefined)
  }
  for (let count = 0; count < CONNECTIONS; count++) send(count % 5 === 0)
  t.after(() => {
    stopped = true
    agent.destroy()
  })
  return { allConnected, answered: () => answered }
}
