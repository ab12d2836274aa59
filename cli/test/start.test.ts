import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { apiFor } from '@plinth/kit/testing'
import { endOf, launch, lineOf } from '../../launcher/test/launch.ts'
import { freePortSettings } from '../../test/servers/free-ports.ts'
import { plinth, plinthHere, temporaryFolder } from './run-plinth.ts'

const INIT = ['init', '--admin-email', 'ada@example.com']

describe('plinth init, and the first start', () => {
  test('write settings and secrets that only the owner can read, and replace nothing', async (t) => {
    const cwd = temporaryFolder(t)

    const first = await plinth([...INIT, '--json'], { cwd })
    const key = readFileSync(join(cwd, 'secrets/identity-master-key'), 'utf8')
    const again = await plinth(INIT, { cwd })

    assert.equal(first.code, 0, first.stderr)
    assert.deepEqual(JSON.parse(first.stdout).written.toSorted(), [
      '.env',
      ...readdirSync(join(cwd, 'secrets')).map((name) => `secrets/${name}`),
    ])
    for (const name of JSON.parse(first.stdout).written)
      assert.equal(statSync(join(cwd, name)).mode & 0o777, 0o600, name)
    assert.equal(statSync(join(cwd, 'secrets')).mode & 0o777, 0o700)
    assert.deepEqual([again.code, again.stdout], [73, ''])
    assert.equal(readFileSync(join(cwd, 'secrets/identity-master-key'), 'utf8'), key)
    for (const secret of readdirSync(join(cwd, 'secrets')))
      assert.ok(!first.stdout.includes(readFileSync(join(cwd, 'secrets', secret), 'utf8').trim()))
  })

  for (const words of [
    ['--url', 'http://app.example'],
    ['--url', 'https://user:password@app.example'],
    ['--url', 'HTTPS://app.example'],
    ['--url', 'https://app.example/?'],
    ['--url', 'https://app.example\\'],
    ['--url', 'https://app.example\nSUITE_PORT=1'],
    ['--data', '/var/lib/my plinth'],
    ['--admin-email', 'admin@localhost'],
    ['--admin-email', 'admin@mail.localhost'],
    ['--admin-email', 'admin'],
    ['--admin-email', 'admin@app.example\nSUITE_PORT=1'],
    ['--admin-email', "o'hara@app.example"],
  ])
    test(`refuse ${JSON.stringify(words.join(' '))}, which start would not accept, writing nothing`, async (t) => {
      const cwd = temporaryFolder(t)

      const { code } = await plinthHere([...INIT, ...words], { cwd })

      assert.equal(code, 64)
      assert.deepEqual(readdirSync(cwd), [])
    })

  test('ask for the address of the first administrator, and write it', async (t) => {
    const cwd = temporaryFolder(t)

    const without = await plinthHere(['init'], { cwd })
    const entries = readdirSync(cwd)
    const given = await plinthHere(INIT, { cwd })

    assert.equal(without.code, 64)
    assert.match(without.stderr, /--admin-email ada@example\.com/)
    assert.deepEqual(entries, [])
    assert.equal(given.code, 0, given.stderr)
    const settings = readFileSync(join(cwd, '.env'), 'utf8')
    for (const service of ['IDENTITY', 'STORAGE_FULL'])
      assert.ok(settings.includes(`\n${service}_ADMIN_EMAIL=ada@example.com\n`))
  })

  test('with --data, later commands in that folder find the data there', async (t) => {
    const cwd = temporaryFolder(t)
    const words = ['keys', 'create', 'shop', '--service', 'payments', '--scope', 'payments:read']

    await plinthHere([...INIT, '--data', 'lib'], { cwd })
    const created = await plinthHere(words, { cwd })

    assert.equal(created.code, 0, created.stderr)
    assert.ok(
      readFileSync(join(cwd, '.env'), 'utf8').includes(`\nSUITE_DATA=${join(cwd, 'lib')}\n`),
    )
    assert.ok(readdirSync(join(cwd, 'lib')).includes('payments.db'))
    assert.deepEqual(readdirSync(cwd).toSorted(), ['.env', 'lib', 'secrets'])
  })

  test('leave no half-written file on a full disk, and can be repeated', {
    skip: process.platform === 'win32' && 'needs ulimit',
  }, async (t) => {
    const cwd = temporaryFolder(t)
    // In blocks of 512 bytes: enough for every secret, too little for .env.
    const script = `ulimit -f 1 && exec "$0" ${join(import.meta.dirname, '../main.js')} ${INIT.join(' ')}`

    const failed = spawnSync('sh', ['-c', script, process.execPath], { cwd, encoding: 'utf8' })

    assert.equal(failed.status, 73, failed.stderr)
    assert.match(failed.stderr, /^Cannot write \.env: /)
    assert.deepEqual(readdirSync(cwd).sort(), ['data', 'secrets'])
    assert.equal((await plinthHere(INIT, { cwd })).code, 0)
  })

  test('exit 73 where nothing can be written', async (t) => {
    const cwd = temporaryFolder(t)
    writeFileSync(join(cwd, 'secrets'), '')

    const { code, stderr } = await plinth(INIT, { cwd })

    assert.equal(code, 73)
    assert.match(stderr, /^Cannot write secrets: /)
  })

  test('start and health work with them, and the first password of the administrator stays', async (t) => {
    const folder = temporaryFolder(t)
    const env = await freePortSettings()
    await plinth([...INIT, '--url', 'https://app.example'], { cwd: folder })
    const password = readFileSync(join(folder, 'secrets/admin-password'), 'utf8').trim()
    const signIn = (secret: string) =>
      apiFor(`http://localhost:${env.IDENTITY_PORT}`).post('/api/auth/login', {
        username: 'admin',
        password: secret,
      })

    const child = launch(t, { env, folder })
    await lineOf(child, /"started"/)
    const health = await plinth(['health', '--json'], { cwd: folder, env })
    const { status, body } = await signIn(password)
    assert.deepEqual([health.code, status], [0, 200])
    assert.deepEqual(
      JSON.parse(health.stdout).map(({ service }: { service: string }) => service),
      ['landing', 'identity', 'storage-full', 'storage-key', 'payments'],
    )
    assert.ok(body.accessToken)
    for (const name of ['IDENTITY', 'STORAGE_FULL', 'STORAGE_KEY', 'PAYMENTS']) {
      const url = `http://localhost:${env[`${name}_PORT`]}`
      const verified = await plinthHere(['verify', url], { cwd: folder })
      assert.equal(verified.code, 0, verified.stderr + verified.stdout)
    }
    child.kill('SIGTERM')
    assert.equal((await endOf(child)).exitCode, 0)

    // Another password in the settings must not change the one in use.
    writeFileSync(join(folder, 'secrets/admin-password'), 'another good password\n')
    const second = launch(t, { env, folder })
    await lineOf(second, /IDENTITY_ADMIN_USERNAME is ignored/)
    await plinth(['health', '--wait', '60'], { cwd: folder, env })
    assert.equal((await signIn(password)).status, 200)
    assert.equal((await signIn('another good password')).status, 401)
  })

  test('a first password that is too short exits 78 and names the setting', async (t) => {
    const folder = temporaryFolder(t)
    const given = { IDENTITY_ADMIN_USERNAME: 'root', IDENTITY_ADMIN_PASSWORD: 'short' }
    const env = { ...(await freePortSettings()), ...given, IDENTITY_DEMO_ACCOUNTS: 'off' }

    const child = launch(t, { env, folder, args: ['identity'] })
    const line = await lineOf(child, /IDENTITY_ADMIN_PASSWORD/, 1, child.stderr)

    assert.doesNotMatch(line, /short$/)
    assert.equal((await endOf(child)).exitCode, 78)
  })
})

describe('plinth health', () => {
  test('asks every service where it listens: at the host of the suite or at its own', async () => {
    // On this machine, but spelt so that services do not take it for loopback.
    const SUITE_HOST = '::ffff:127.0.0.1'
    const hosts = { SUITE_HOST, IDENTITY_HOST: 'localhost' }
    const env = { ...(await freePortSettings()), NODE_ENV: 'production', ...hosts }

    const { stdout } = await plinthHere(['health', '--json'], { env })

    const asked = JSON.parse(stdout).map(({ url }: { url: string }) => url.replace(/:\d+$/, ''))
    const suite = `http://[${SUITE_HOST}]`
    assert.deepEqual(asked, [suite, 'http://localhost', suite, suite, suite])
  })

  test('lists services that do not answer, and exits 1', async () => {
    const env = await freePortSettings()

    const { code, stdout } = await plinth(['health', 'identity'], { env })

    assert.deepEqual(
      [code, stdout],
      [1, `identity\tNO ANSWER\thttp://localhost:${env.IDENTITY_PORT}\n`],
    )
  })

  test('waits for a start that does not answer yet, but not for one that has exited', async (t) => {
    let answers = -3
    const server = createServer((_, reply) => {
      answers += 1
      if (answers <= 0) reply.destroy()
      else reply.setHeader('content-type', 'application/json').end('{"status":"UP"}')
    }).listen(0, 'localhost')
    t.after(() => server.close())
    await once(server, 'listening')
    const IDENTITY_PORT = String((server.address() as AddressInfo).port)
    const ask = async (...more: string[]) => {
      const words = ['health', 'identity', ...more]
      return (await plinthHere(words, { env: { IDENTITY_PORT } })).code
    }
    const ended = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
    await once(ended, 'exit')

    assert.equal(await ask('--wait', '3600', '--pid', String(ended.pid)), 1)
    assert.equal(await ask('--wait', '0', '--pid', String(process.pid)), 0)
    assert.equal(answers, 1)
    assert.equal(await ask('--pid', 'x'), 64)
  })
})

describe('plinth openapi', () => {
  test('prints the document in docs/openapi', async () => {
    const { code, stdout } = await plinth(['openapi', 'storage-key'])

    const kept = join(import.meta.dirname, '../../docs/openapi/storage-key.json')
    assert.deepEqual([code, stdout], [0, readFileSync(kept, 'utf8')])
  })

  test('needs no folder for temporary files', async (t) => {
    const cwd = temporaryFolder(t)

    const { code } = await plinth(['openapi', 'storage-key'], { cwd, env: { TMPDIR: '/proc' } })

    assert.deepEqual([code, readdirSync(cwd)], [0, []])
  })
})

describe('plinth verify', () => {
  test('reports replies that do not match the document, and unprotected operations', async (t) => {
    const server = createServer((_, reply) => {
      reply.setHeader('content-type', 'application/json').end('{"status":"FINE"}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

    const unnamed = await plinthHere(['verify', url])
    const { code, stdout } = await plinthHere(['verify', url, '--service', 'storage-key'])

    assert.deepEqual([unnamed.code, code], [64, 1])
    assert.match(stdout, /^GET \/api\/audit: 200 without a credential$/m)
    assert.match(stdout, /^GET \/actuator\/health: 200 body\/status must be /m)
    assert.match(stdout, /: \d+ operations checked, \d+ faults\.\n$/)
  })

  test('exits 69 when nothing answers and 64 for an invalid address', async () => {
    const { IDENTITY_PORT } = await freePortSettings()

    const silent = await plinthHere(['verify', `http://127.0.0.1:${IDENTITY_PORT}`])
    const wrong = await plinthHere(['verify', 'app.example'])

    assert.deepEqual([silent.code, wrong.code], [69, 64])
    assert.match(silent.stderr, /does not answer: ECONNREFUSED\.\n$/)
  })
})

describe('plinth start', () => {
  test('runs only the named services', async (t) => {
    const folder = temporaryFolder(t)
    const env = await freePortSettings()

    const child = launch(t, { env, folder, args: ['identity', 'storage-key'] })
    const { services } = JSON.parse(await lineOf(child, /"started"/))

    assert.deepEqual(Object.keys(services), ['identity', 'storage-key'])
  })
})
