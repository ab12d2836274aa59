import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { until } from '../../test/until.ts'
import { services } from '../services.ts'
import { endOf, failureOf, launch, lineOf } from './launch.ts'
import { testEnv } from './test-env.ts'
import { beginPost } from './unfinished-login.ts'

test('npm start, and npm start again', async (t) => {
  const { env, folder } = await testEnv(t, { LOG_LEVEL: 'info' })
  const child = launch(t, { env, folder })
  const printed: string[] = []
  child.stdout?.on('data', (chunk) => printed.push(String(chunk)))
  const line = JSON.parse(await lineOf(child, /"msg":"started"/))
  const keys = () => textOf(`${line.services.identity}/.well-known/jwks.json`)

  await t.test('prints one JSON line with all addresses and development conveniences', () => {
    assert.equal(printed.join('').trim().split('\n').length, 1, printed.join(''))
    assert.deepEqual(
      Object.keys(line.services),
      services.map(({ name }) => name),
    )
    assert.match(line.announcements.join(' '), /demo accounts.*development key/)
  })

  await t.test('everything is healthy', async () => {
    for (const url of [line.landing, ...Object.values(line.services)])
      assert.equal((await fetch(`${url}/actuator/health`)).status, 200, url)
  })

  await t.test('the landing page shows working logins; the JSON line contains none', async () => {
    const [identity] = JSON.parse(await textOf(`${line.landing}/api/services`))

    assert.equal(identity.healthy, true)
    assert.equal(identity.logins.length, 2)
    for (const { username, password } of identity.logins) {
      const body = JSON.stringify({ username, password })
      const headers = { 'content-type': 'application/json' }
      const reply = await fetch(`${identity.url}/api/auth/login`, { method: 'POST', headers, body })
      assert.equal(reply.status, 200)
      assert.ok(!JSON.stringify(line).includes(password))
    }
  })

  await t.test('the error for a port in use names the port and its setting', async () => {
    const { env: second } = await testEnv(t, { IDENTITY_PORT: env.IDENTITY_PORT ?? '' })

    const { exitCode, errors } = await failureOf(launch(t, { env: second, folder }))

    assert.equal(exitCode, 69)
    assert.match(errors, new RegExp(`Port ${env.IDENTITY_PORT} is in use.*IDENTITY_PORT`))
    assert.doesNotMatch(errors, /\n {4}at /)
  })

  const before = await keys()
  await t.test('SIGTERM closes everything and exits 0', async () => {
    child.kill('SIGTERM')

    assert.equal((await endOf(child)).exitCode, 0)
  })

  await t.test(
    'the second start keeps data and secrets, and reads .env below the environment',
    async () => {
      const { IDENTITY_PORT, ...others } = env
      writeFileSync(join(folder, '.env'), `IDENTITY_PORT=${IDENTITY_PORT}\nSUITE_PORT=1\n`)

      const next = launch(t, { env: others, folder })
      const { landing, services: urls } = JSON.parse(await lineOf(next, /"msg":"started"/))

      assert.equal(new URL(urls.identity).port, IDENTITY_PORT)
      assert.equal(new URL(landing).port, env.SUITE_PORT)
      assert.equal(await keys(), before)
    },
  )
})

test('SIGTERM lets a checkout in flight reach the provider, and nothing fails', async (t) => {
  const { env, folder } = await testEnv(t, { LOG_LEVEL: 'error' })
  const child = launch(t, { env, folder })
  const printed: string[] = []
  child.stdout?.on('data', (chunk) => printed.push(String(chunk)))
  const { services: urls } = JSON.parse(await lineOf(child, /"msg":"started"/))
  const checkout = await beginPost(`${urls.payments}/api/checkout/sessions`, {
    businessReference: 'order-1',
    attemptReference: 'attempt-1',
    description: 'Order 1',
    amount: 1000,
    currency: 'eur',
  })

  child.kill('SIGTERM')
  await until(
    () => isListening(urls.payments),
    (listening) => !listening,
  )
  const status = await checkout.finish()

  assert.equal(status, 201)
  assert.equal((await endOf(child)).exitCode, 0)
  assert.doesNotMatch(printed.join(''), /"level":50/)
})

function isListening(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), 'localhost')
  const connected = once(socket, 'connect').then(
    () => true,
    () => false,
  )
  return connected.finally(() => socket.destroy())
}

describe('npm start', () => {
  test('the error for a data folder that cannot be created names its setting', async (t) => {
    const { env, folder } = await testEnv(t)
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const unusable = { ...env, SUITE_DATA: join(file, 'data') }

    const { exitCode, errors } = await failureOf(launch(t, { env: unusable, folder }))

    assert.equal(exitCode, 69)
    assert.match(errors, /The folder .*data cannot be used: .* Choose another with SUITE_DATA/)
    assert.doesNotMatch(errors, /\n {4}at /)
  })

  test('faults in the settings of several services are reported together', async (t) => {
    const { env, folder } = await testEnv(t, { IDENTITY_PORT: 'eighty', SUITE_SANDBOX: 'perhaps' })

    const { exitCode, errors } = await failureOf(launch(t, { env, folder }))

    assert.equal(exitCode, 78)
    assert.match(errors, /IDENTITY_PORT/)
    assert.match(errors, /SUITE_SANDBOX/)
  })

  test('WORKERS without a service is refused, and the error shows the right command', async (t) => {
    const { env, folder } = await testEnv(t, { WORKERS: '2' })

    const { exitCode, errors } = await failureOf(launch(t, { env, folder }))

    assert.equal(exitCode, 78)
    assert.match(errors, /WORKERS=4 npm start -- identity/)
  })
})

async function textOf(url: string): Promise<string> {
  return (await fetch(url)).text()
}
