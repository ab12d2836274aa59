import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { until } from '../../../../test/until.ts'
import { listenForTest } from '../../testing/listen.ts'
import { type SpawnedService, spawnService } from '../../testing/processes/spawn.ts'
import { createLogger } from '../logging.ts'
import { systemClock } from '../runtime/clock.ts'
import { closeGracefully, failureOf } from './run.ts'
import { createServer } from './server.ts'

/** Lets the process reuse the compile cache of the others. */
const { NODE_COMPILE_CACHE } = process.env
const COMPILED = { ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) }
/** `script` runs a program on a terminal of its own; on other systems it takes other arguments. */
const NO_TERMINAL = process.platform !== 'linux' && 'needs the script command of Linux'
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

test('closing does not wait for a connection that a client keeps open after the last answer', async (t) => {
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

test('the error for a full disk says what to do', () => {
  for (const code of ['SQLITE_FULL', '53100', 'ENOSPC']) {
    const { message } = failureOf(Object.assign(new Error('database or disk is full'), { code }))

    assert.equal(
      message,
      '✖ There is no room left on the disk of the data. Free some space, and start again.',
    )
  }
})

describe('a running service', () => {
  for (const signal of ['SIGTERM', 'SIGHUP'] as const)
    test(`${signal} finishes the request in flight, closes everything and exits with 0`, async (t) => {
      const service = await startSmall(t)
      const begun = logged(service, 'slow request has begun')
      const closed = logged(service, 'everything is closed')
      const slow = service.api.get('/slow')
      await begun

      service.process.kill(signal)

      const { body, headers } = await slow
      assert.deepEqual([body, headers.get('connection')], ['hello', 'close'])
      await closed
      await service.ended
      assert.equal(service.process.exitCode, 0)
    })

  test('a second signal exits at once', async (t) => {
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

  const TWICE = {
    'a Ctrl-C that arrives twice, from the terminal and from npm,': 'SIGINT',
    'a closed terminal that sends two signals, one through the shell,': 'SIGHUP',
  } as const
  for (const [what, signal] of Object.entries(TWICE))
    test(`${what} counts once`, async (t) => {
      const service = await startSmall(t)
      const begun = logged(service, 'held request has begun')
      const draining = logged(service, 'draining')
      const held = service.api.get('/held').catch(() => 'cut')
      await begun

      service.process.kill(signal)
      await draining
      service.process.kill(signal)
      // Signals that are pending together arrive in the order of their numbers, so this one arrives last.
      service.process.kill('SIGUSR2')

      const reply = await held
      await service.ended
      assert.equal(typeof reply === 'string' ? reply : reply.body, 'hello')
      assert.equal(service.process.exitCode, 0)
    })

  test('a second, later Ctrl-C exits at once', async (t) => {
    const service = await startSmall(t)
    const begun = logged(service, 'stuck request has begun')
    const stuck = service.api.get('/stuck').catch(() => 'cut')
    await begun

    await until(async () => {
      service.process.kill('SIGINT')
      return service.process.exitCode !== null
    })

    assert.equal(await stuck, 'cut')
    assert.equal(service.process.exitCode, 130)
  })

  test('invalid settings exit with 78 and name every fault', () => {
    const env = { ...COMPILED, SMALL_PORT: 'eighty' }

    const { status, stderr } = spawnSync(process.execPath, [SMALL_SERVICE], { env })

    assert.equal(status, 78)
    assert.match(String(stderr), /2 settings need attention[\s\S]*SMALL_PORT[\s\S]*SMALL_GREETING/)
  })

  test('settings come from .env too, even if it begins with a byte order mark', (t) => {
    const cwd = mkdtempSync(join(tmpdir(), 'plinth-run-'))
    t.after(() => rmSync(cwd, { recursive: true }))
    writeFileSync(join(cwd, '.env'), '\uFEFFSMALL_PORT=eighty\nSMALL_GREETING=hello\n')

    const { stderr } = spawnSync(process.execPath, [SMALL_SERVICE], { env: COMPILED, cwd })

    assert.match(String(stderr), /1 setting needs attention[\s\S]*SMALL_PORT/)
  })

  test('--help explains how to run it, and runs nothing', () => {
    const env = { ...COMPILED, SMALL_PORT: 'eighty' }

    const { status, stdout } = spawnSync(process.execPath, [SMALL_SERVICE, '--help'], { env })

    assert.equal(status, 0)
    assert.match(String(stdout), /\.env\.example/)
  })

  test('the error for a port in use names it', async (t) => {
    const service = await startSmall(t)
    const { port } = new URL(service.baseUrl)
    const env = { ...COMPILED, SMALL_PORT: port, SMALL_GREETING: 'hi' }

    const { status, stderr } = spawnSync(process.execPath, [SMALL_SERVICE], { env })

    assert.equal(status, 69)
    assert.match(String(stderr), new RegExp(`Port ${port} is in use`))
  })

  test('the error for a privileged port is one sentence', {
    skip: noPrivilegedPort(),
  }, () => {
    const env = { ...COMPILED, SMALL_PORT: '80', SMALL_GREETING: 'hi' }
    // Even the superuser may not use the port without this capability.
    const without = ['setpriv', '--bounding-set=-net_bind_service']
    const [program = '', ...args] = [
      ...(process.getuid?.() === 0 ? without : []),
      process.execPath,
      SMALL_SERVICE,
    ]

    const { status, stderr } = spawnSync(program, args, { env: { ...env, PATH: process.env.PATH } })

    assert.equal(status, 69)
    assert.equal(
      String(stderr),
      '✖ Port 80 needs privileges that this process does not have. Choose 1024 or higher with SMALL_PORT.\n',
    )
  })
})

/** The reason to skip, if even an ordinary process may use port 80. */
function noPrivilegedPort(): string | false {
  const setting = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
  const first = existsSync(setting) ? Number(readFileSync(setting, 'utf8')) : 0
  return first <= 80 && 'on this machine every process may use port 80'
}

describe('a rolling restart', () => {
  test('by default keeps serving for a while after SIGTERM', async (t) => {
    const service = await startSmall(t, { SMALL_DRAIN_SECONDS: '' })

    service.process.kill('SIGTERM')
    await until(async () => (await readiness(service)) === 503)

    assert.equal((await service.api.get('/')).status, 200)
    service.process.kill('SIGTERM')
    await service.ended
    assert.equal(service.process.exitCode, 143)
  })

  test('is not delayed on a terminal: Ctrl-C exits at once', { skip: NO_TERMINAL }, async (t) => {
    const command = `exec '${process.execPath}' '${SMALL_SERVICE}'`
    const env = { ...COMPILED, PATH: process.env.PATH, SMALL_PORT: '0', SMALL_GREETING: 'hello' }
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { env })
    t.after(() => terminal.kill('SIGKILL'))
    const ended = once(terminal, 'exit')
    const lines = createInterface({ input: terminal.stdout })
    const [listening] = await once(lines, 'line')

    const pressed = performance.now()
    terminal.stdin.write('\u0003')
    const [exitCode] = await ended

    assert.match(listening, /listening/)
    assert.equal(exitCode, 0)
    // Without a terminal it would keep serving for 5 more seconds.
    assert.ok(performance.now() - pressed < 4_000)
  })

  test('turns readiness to 503 at once on SIGTERM, while requests are still served and end their connection', async (t) => {
    const service = await startSmall(t, { SMALL_DRAIN_SECONDS: '1' })

    service.process.kill('SIGTERM')
    await until(async () => (await readiness(service)) === 503)
    const served = await service.api.get('/')

    assert.deepEqual([served.status, served.body], [200, 'hello'])
    assert.equal(served.headers.get('connection'), 'close')
    await service.ended
    assert.equal(service.process.exitCode, 0)
  })

  test('of two nodes behind a round-robin balancer that checks readiness fails no request', async (t) => {
    const nodes = [await startSmall(t, DRAINING), await startSmall(t, DRAINING)]
    const balancer = balance(nodes)

    for (let restart = 0; restart < RESTARTS; restart++) {
      const leaving = nodes[restart % 2] as SpawnedService
      leaving.process.kill('SIGTERM')
      await leaving.ended
      nodes[restart % 2] = await startSmall(t, DRAINING)
      await balancer.until(nodes[restart % 2] as SpawnedService)
    }
    const { served, failures } = await balancer.stop()

    assert.deepEqual(failures, [])
    assert.ok(served > RESTARTS * 10, String(served))
  })
})

const DRAINING = { SMALL_DRAIN_SECONDS: '3' }
const RESTARTS = Number(process.env.TEST_RESTARTS ?? 4)

async function readiness(service: SpawnedService): Promise<number> {
  return (await service.api.get('/actuator/health/readiness')).status
}

/** Acts as a load balancer: checks the readiness of each node often, and forwards requests in turn. */
function balance(nodes: SpawnedService[]) {
  const ready = new Set(nodes)
  const failures: string[] = []
  let [served, stopped] = [0, false]
  const probing = (async () => {
    while (!stopped) {
      await Promise.all(
        nodes.map(async (node) => {
          const status = await readiness(node).catch(() => 0)
          if (status === 200) ready.add(node)
          else ready.delete(node)
        }),
      )
      await setTimeout(50)
    }
  })()
  const sending = (async () => {
    for (let turn = 0; !stopped; turn++) {
      const choice = nodes.filter((node) => ready.has(node))
      const node = choice[turn % choice.length]
      const outcome = await node?.api.get('/').then(({ status }) => String(status), String)
      if (outcome === '200') served += 1
      else failures.push(outcome ?? 'no node is ready')
      await setTimeout(2)
    }
  })()
  return {
    until: (node: SpawnedService) => until(async () => ready.has(node)),
    async stop() {
      stopped = true
      await Promise.all([probing, sending])
      return { served, failures }
    },
  }
}
