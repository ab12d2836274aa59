import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { listenForTest } from '../../testing/listen.ts'
import { type SpawnedService, spawnService } from '../../testing/processes/spawn.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/logging.ts'
import { closeGracefully } from './run.ts'
import { createServer } from './server.ts'

const SMALL_SERVICE = join(import.meta.dirname, '../../testing/processes/small-process.ts')

async function startSmall(t: TestContext, env: Record<string, string> = {}) {
  return spawnService(t, SMALL_SERVICE, { SMALL_PORT: '0', SMALL_GREETING: 'hello', ...env })
}

/** Resolves when the service has logged this message. */
function logged(service: SpawnedService, message: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const lines = createInterface({ input: service.process.stdout as NodeJS.ReadableStream })
  lines.on('line', (line) => line.includes(message) && resolve())
  return promise
}

test('a connection that is kept after the last answer is not waited for', async (t) => {
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: systemClock })
  const begun = Promise.withResolvers<void>()
  const released = Promise.withResolvers<string>()
  server.get('/slow', () => {
    begun.resolve()
    return released.promise
  })
  const { api } = await listenForTest(t, server)
  const cut = t.mock.method(server.server, 'closeAllConnections')
  const slow = api.get('/slow')
  await begun.promise

  const closing = closeGracefully(server)
  while (server.server.listening) await setImmediate()
  released.resolve('at last')
  await closing

  assert.equal((await slow).body, 'at last')
  assert.equal(cut.mock.callCount(), 0)
})

describe('a running service', () => {
  test('SIGTERM finishes the request under way, closes everything and ends with 0', async (t) => {
    const service = await startSmall(t)
    const begun = logged(service, 'slow request has begun')
    const closed = logged(service, 'everything is closed')
    const slow = service.api.get('/slow')
    await begun

    service.process.kill('SIGTERM')

    assert.equal((await slow).body, 'hello')
    await closed
    await service.ended
    assert.equal(service.process.exitCode, 0)
  })

  test('a second signal ends at once', async (t) => {
    const service = await startSmall(t)
    const begun = logged(service, 'stuck request has begun')
    const draining = logged(service, 'draining')
    const stuck = service.api.get('/stuck').catch(() => 'cut')
    await begun

    service.process.kill('SIGTERM')
    await draining
    service.process.kill('SIGTERM')

    await service.ended
    assert.equal(await stuck, 'cut')
    assert.equal(service.process.exitCode, 143)
  })

  test('one Ctrl-C that arrives twice, from the terminal and from npm, is one', async (t) => {
    const service = await startSmall(t)
    const begun = logged(service, 'slow request has begun')
    const draining = logged(service, 'draining')
    const slow = service.api.get('/slow')
    await begun

    service.process.kill('SIGINT')
    await draining
    service.process.kill('SIGINT')

    assert.equal((await slow).body, 'hello')
    await service.ended
    assert.equal(service.process.exitCode, 0)
  })

  test('faulty settings end with 78 and name every fault', () => {
    const env = { PATH: process.env.PATH, SMALL_PORT: 'eighty' }

    const { status, stderr } = spawnSync(process.execPath, [SMALL_SERVICE], { env })

    assert.equal(status, 78)
    assert.match(String(stderr), /2 settings need attention[\s\S]*SMALL_PORT[\s\S]*SMALL_GREETING/)
  })

  test('a port in use is named', async (t) => {
    const service = await startSmall(t)
    const { port } = new URL(service.baseUrl)
    const env = { PATH: process.env.PATH, SMALL_PORT: port, SMALL_GREETING: 'hi' }

    const { status, stderr } = spawnSync(process.execPath, [SMALL_SERVICE], { env })

    assert.equal(status, 69)
    assert.match(String(stderr), new RegExp(`Port ${port} is in use`))
  })
})
