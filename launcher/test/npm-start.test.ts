import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { services } from '../services.ts'
import { endOf, failureOf, launch, lineOf } from './launch.ts'
import { testEnv } from './test-env.ts'

type Started = { child: ChildProcess; line: { landing: string; services: Record<string, string> } }

describe('npm start', () => {
  test('says in one JSON line where everything is, and all of it is healthy', async (t) => {
    const { env, folder } = await testEnv(t)

    const { line } = await start(t, env, folder)

    assert.deepEqual(
      Object.keys(line.services),
      services.map(({ name }) => name),
    )
    for (const url of [line.landing, ...Object.values(line.services)])
      assert.equal((await fetch(`${url}/actuator/health`)).status, 200, url)
  })

  test('announces logins that work, on the landing page and nowhere in the JSON line', async (t) => {
    const { env, folder } = await testEnv(t)
    const { line } = await start(t, env, folder)

    const listed = await readJson(`${line.landing}/api/services`)

    const [identity] = listed
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

  test('prints nothing but that line, which also says what is on for development', async (t) => {
    const { env, folder } = await testEnv(t, { LOG_LEVEL: 'info' })
    const child = launch(t, { env, folder })
    const printed: string[] = []
    child.stdout?.on('data', (chunk) => printed.push(String(chunk)))

    const line = JSON.parse(await lineOf(child, /"msg":"started"/))

    assert.equal(printed.join('').trim().split('\n').length, 1, printed.join(''))
    assert.match(line.announcements.join(' '), /demo accounts.*development key/)
  })

  test('SIGTERM closes everything and ends with 0', async (t) => {
    const { env, folder } = await testEnv(t)
    const { child } = await start(t, env, folder)

    child.kill('SIGTERM')

    assert.equal((await endOf(child)).exitCode, 0)
  })

  test('a second start keeps data and generated secrets', async (t) => {
    const { env, folder } = await testEnv(t)
    const first = await start(t, env, folder)
    const keys = await (await fetch(`${first.line.services.identity}/.well-known/jwks.json`)).text()
    first.child.kill('SIGTERM')
    await endOf(first.child)

    const second = await start(t, env, folder)

    const again = await fetch(`${second.line.services.identity}/.well-known/jwks.json`)
    assert.equal(await again.text(), keys)
  })

  test('reads .env in the working directory; what is set outside wins', async (t) => {
    const { env, folder } = await testEnv(t)
    const { IDENTITY_PORT, ...others } = env
    writeFileSync(join(folder, '.env'), `IDENTITY_PORT=${IDENTITY_PORT}\nSUITE_PORT=1\n`)

    const { line } = await start(t, others, folder)

    assert.equal(new URL(line.services.identity ?? '').port, IDENTITY_PORT)
    assert.equal(new URL(line.landing).port, env.SUITE_PORT)
  })

  test('a port in use is named together with the setting that moves it', async (t) => {
    const { env, folder } = await testEnv(t)
    await start(t, env, folder)
    const { env: second } = await testEnv(t, { IDENTITY_PORT: env.IDENTITY_PORT ?? '' })

    const { exitCode, errors } = await failureOf(launch(t, { env: second, folder }))

    assert.equal(exitCode, 69)
    assert.match(errors, new RegExp(`Port ${env.IDENTITY_PORT} is in use.*IDENTITY_PORT`))
    assert.doesNotMatch(errors, /\n {4}at /)
  })

  test('a data folder that cannot be created is named together with its setting', async (t) => {
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

  test('WORKERS without a service is refused with the right command', async (t) => {
    const { env, folder } = await testEnv(t, { WORKERS: '2' })

    const { exitCode, errors } = await failureOf(launch(t, { env, folder }))

    assert.equal(exitCode, 69)
    assert.match(errors, /WORKERS=4 npm start -- identity/)
  })
})

// biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape it expects
async function readJson(url: string): Promise<any> {
  return (await fetch(url)).json()
}

async function start(
  t: TestContext,
  env: Record<string, string>,
  folder: string,
): Promise<Started> {
  const child = launch(t, { env, folder })
  return { child, line: JSON.parse(await lineOf(child, /"msg":"started"/)) }
}
