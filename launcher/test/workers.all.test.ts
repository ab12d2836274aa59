import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { until } from '../../test/until.ts'
import { endOf, lineOf } from './launch.ts'
import { startIdentity, workersOf } from './start-identity.ts'
import { beginLogin } from './unfinished-login.ts'

const skip = process.platform !== 'linux'

describe('a request in flight in one of several processes', { skip }, () => {
  test('is answered after a Ctrl-C that signals every process, and the primary twice via npm', async (t) => {
    const { child, baseUrl } = await startIdentity(t, { WORKERS: '2' }, true)
    const allEnded = endOf(child)
    const login = await beginLogin(baseUrl)
    const primary = child.pid ?? 0

    process.kill(-primary, 'SIGINT')
    process.kill(primary, 'SIGINT')

    await portIsClosed(baseUrl)
    assert.equal(await login.finish(), 200)
    assert.deepEqual(await allEnded, { exitCode: 0, signal: null })
  })

  test('is answered after a terminal was closed, which signals every process', async (t) => {
    const { child, baseUrl } = await startIdentity(t, { WORKERS: '2' }, true)
    const allEnded = endOf(child)
    const login = await beginLogin(baseUrl)

    process.kill(-(child.pid ?? 0), 'SIGHUP')

    await portIsClosed(baseUrl)
    assert.equal(await login.finish(), 200)
    assert.deepEqual(await allEnded, { exitCode: 0, signal: null })
  })

  test('is answered after a SIGTERM to every process', async (t) => {
    const { child, baseUrl } = await startIdentity(t, { WORKERS: '2' })
    const allEnded = endOf(child)
    const login = await beginLogin(baseUrl)

    child.kill('SIGTERM')
    const [busy = 0] = await workersOf(child, 1)
    process.kill(busy, 'SIGTERM')

    assert.equal(await login.finish(), 200)
    assert.deepEqual(await allEnded, { exitCode: 0, signal: null })
  })

  test('is answered when the primary is gone', async (t) => {
    const { child, baseUrl } = await startIdentity(t, { WORKERS: '2' })
    const allEnded = endOf(child)
    const workers = await workersOf(child, 2)
    const login = await beginLogin(baseUrl)

    child.kill('SIGKILL')

    await oneEnded(workers)
    assert.equal(await login.finish(), 200)
    await allEnded
  })

  test('is aborted by a second signal', async (t) => {
    const { child, baseUrl } = await startIdentity(t, { WORKERS: '2' })
    const allEnded = endOf(child)
    const login = await beginLogin(baseUrl)
    child.kill('SIGTERM')
    await portIsClosed(baseUrl)

    child.kill('SIGTERM')

    assert.deepEqual(await allEnded, { exitCode: 143, signal: null })
    await assert.rejects(login.finish())
  })
})

describe('a worker that cannot be replaced immediately', { skip }, () => {
  test('is retried later, and the other one answers meanwhile', async (t) => {
    const { child, baseUrl, folder } = await startIdentity(t, { WORKERS: '2' })
    const [victim = 0] = await workersOf(child, 2)
    const endedTwice = lineOf(child, /worker replaced/, 2, child.stderr)
    const listensAgain = lineOf(child, /"msg":"listening"/)
    writeFileSync(join(folder, '.env'), 'IDENTITY_FAILURE_LIMIT=nonsense')

    process.kill(victim, 'SIGKILL')

    await endedTwice
    assert.equal((await fetch(`${baseUrl}/actuator/health`)).status, 200)
    rmSync(join(folder, '.env'))
    await listensAgain
  })
})

/** Returns when the port is closed: every worker has been told to close. */
async function portIsClosed(baseUrl: string): Promise<void> {
  const isRefused = async () => {
    const socket = connect(Number(new URL(baseUrl).port), 'localhost')
    const refused = await once(socket, 'connect').then(
      () => false,
      () => true,
    )
    socket.destroy()
    return refused
  }
  await until(isRefused, (refused) => refused, 10)
}

/** Without an init process to reap it, an orphan that has exited remains as a zombie. */
async function oneEnded(pids: number[]): Promise<void> {
  const hasEnded = (pid: number) => {
    try {
      return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
    } catch {
      return true
    }
  }
  await until(
    () => pids.some(hasEnded),
    (ended) => ended,
    10,
  )
}
