import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer as createSocketServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createLogger } from '../logging.ts'
import { StartError } from '../problems.ts'
import { systemClock } from '../runtime/clock.ts'
import { closeGracefully, listen } from './run.ts'
import { createServer } from './server.ts'

// All of 127.0.0.0/8 is this machine on Linux, so these two can stand in for 127.0.0.1 and ::1.
const BOTH = ['127.0.0.1', '127.0.0.2']
const skip = process.platform !== 'linux'

describe('a host with two addresses', { skip }, () => {
  test('is served on both, under the same limits', async (t) => {
    const server = startable(t)
    const { port } = new URL(await listen(server, { host: 'localhost', port: 0 }, BOTH))

    for (const address of BOTH) {
      const talk = (request: string) => exchange(address, Number(port), request)
      assert.match(await talk('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'), / 200 OK/)
      assert.match(await talk('NONSENSE\r\n\r\n'), / 400 [\s\S]*"code":"BAD_REQUEST"/)
      assert.match(await talk(UNFINISHED), / 408 /)
    }
  })

  test('reports that the port is in use on the second', async (t) => {
    const other = createSocketServer().listen(0, BOTH[1])
    t.after(() => other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo

    const listening = listen(startable(t), { host: 'localhost', port }, BOTH)

    await assert.rejects(listening, (error) => {
      assert.ok(error instanceof StartError)
      assert.match(error.message, new RegExp(`Port ${port} is in use`))
      return true
    })
  })

  test('closes once the request in flight on the second is answered, even after ten seconds', async (t) => {
    const server = startable(t)
    const events: string[] = []
    const begun = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    server.get('/slow', async () => {
      begun.resolve()
      await released.promise
      events.push('answered')
      return 'at last'
    })
    server.onClose(() => void events.push('closed'))
    const { port } = new URL(await listen(server, { host: 'localhost', port: 0 }, BOTH))
    const request = 'GET /slow HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    const answer = exchange(BOTH[1] ?? '', Number(port), request)
    await begun.promise

    const firstClosed = once(server.server, 'close')
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const closing = closeGracefully(server)
    t.mock.timers.tick(1)
    await firstClosed
    await setImmediate()
    t.mock.timers.tick(20_000)
    await setImmediate()
    released.resolve()
    await closing

    assert.match(await answer, /at last$/)
    assert.deepEqual(events, ['answered', 'closed'])
  })

  test('skips one on which the chosen port is in use, if any port will do', async (t) => {
    const twice = ['127.0.0.1', '127.0.0.1']

    const url = await listen(startable(t), { host: 'localhost', port: 0 }, twice)

    const { port } = new URL(url)
    assert.equal((await fetch(`http://127.0.0.1:${port}`)).status, 200)
  })

  test('skips one that this machine does not have', async (t) => {
    const missing = ['127.0.0.1', '192.0.2.1']

    const url = await listen(startable(t), { host: 'localhost', port: 0 }, missing)

    const { port } = new URL(url)
    assert.equal((await fetch(`http://127.0.0.1:${port}`)).status, 200)
  })
})

describe('a port that cannot be used', () => {
  for (const [code, message] of [
    ['EACCES', /^Port 80 needs privileges that this process does not have\. .* SMALL_PORT\.$/],
    ['ENOTFOUND', /^The host app\.example is not known\. .*_HOST setting\.$/],
  ] as const)
    test(`is reported in one sentence (${code})`, async (t) => {
      const server = startable(t)
      t.mock.method(server.server, 'listen', () => {
        const refused = Object.assign(new Error(`listen ${code}`), { code })
        process.nextTick(() => server.server.emit('error', refused))
      })

      const listening = listen(
        server,
        { host: 'app.example', port: 80, portSetting: 'SMALL_PORT' },
        ['127.0.0.1'],
      )

      await assert.rejects(listening, (error) => {
        assert.ok(error instanceof StartError)
        assert.match(error.message, message)
        return true
      })
    })
})

const UNFINISHED =
  'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{'

function startable(t: TestContext) {
  const log = createLogger('test', 'silent')
  const limits = { bodyDeadlineMs: 20 }
  const server = createServer({ log, clock: systemClock, ...limits })
  server.get('/', () => 'hello')
  server.post('/', () => 'hello')
  t.after(() => {
    server.server.closeAllConnections()
    return server.close()
  })
  return server
}

/** Returns everything that the server sends back. */
async function exchange(address: string, port: number, request: string): Promise<string> {
  const socket = connect(port, address)
  socket.write(request)
  return text(socket)
}
