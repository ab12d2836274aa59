import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { basename, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { readRecord, recordFailure, recordSuccess } from '@plinth/backup'
import { identityClient } from '@plinth/client'
import { loadConfig, openForOperator } from '@plinth/identity'
import { createServer } from '@plinth/kit/http'
import { createLogger } from '@plinth/kit/logging'
import { armFailPoint, systemClock } from '@plinth/kit/runtime'
import { engines, sqlite, type TestEngine } from '@plinth/kit/testing'
import { newKeyText } from '@plinth/service-keys'
import { backupHealth, measureBackups } from '../backups/health.ts'
import { makeBackup } from '../backups/make.ts'
import { startSchedule } from '../backups/schedule.ts'
import { suiteData } from '../backups/suite-data.ts'
import { loadBackups } from '../config.ts'
import { prepareStack } from '../prepare/prepare.ts'
import { services } from '../services.ts'
import { startStack } from '../stack/stack.ts'
import { testEnv } from './test-env.ts'

const HOUR_MS = 3_600_000
const only = services.filter(({ name }) => name === 'identity')
const log = createLogger('test', 'silent')

/** Starts identity, with the clock at 02:30. */
async function startSuite(t: TestContext, engine: TestEngine) {
  const { env, folder } = await testEnv(t, { NODE_ENV: 'test', BACKUP_AT: '02:30' })
  if (engine.name === 'postgres') env.IDENTITY_DATABASE_URL = await engine.freshUrl(t)
  mkdirSync(env.SUITE_DATA as string)
  const stack = await startStack({ env: { ...env, BACKUP_AT: '' }, only })
  t.after(() => stack.close())
  const time = { now: new Date('2026-11-16T02:30:00Z') }
  const startNode = async (name: string, settings: Record<string, string> = {}) => {
    const backups = join(folder, name)
    const own = { ...env, BACKUP_DIR: backups, ...settings }
    const config = loadBackups(own)
    const data = await suiteData(env, only)
    const schedule = startSchedule({
      env: own,
      config,
      services: data,
      log,
      clock: () => time.now,
    })
    assert.ok(schedule)
    t.after(schedule.stop)
    const archives = () => readdirSync(backups).filter((file) => file.startsWith('plinth-'))
    const { metrics } = createServer({ log, clock: systemClock })
    measureBackups(metrics, config)
    const lastSuccess = async () => {
      const found = (await metrics.read()).find(({ name }) => name.includes('last_success'))
      return found?.type === 'gauge' ? found.samples[0]?.value : undefined
    }
    return { ...schedule, archives, config, lastSuccess, health: () => backupHealth(config) }
  }
  const pass = (milliseconds: number) => {
    time.now = new Date(time.now.getTime() + milliseconds)
  }
  return { startNode, pass }
}

for (const engine of engines)
  describe(`backups on a schedule, on ${engine.name}`, engine.options, () => {
    test('one of two nodes makes the daily backup and sends a ping', async (t) => {
      const { startNode, pass } = await startSuite(t, engine)
      const monitor = await startMonitor(t)
      const settings = {
        BACKUP_VERIFY: engine.name === 'sqlite' ? 'on' : 'off',
        BACKUP_PING_URL: monitor.url,
      }
      const [one, two] = [await startNode('one', settings), await startNode('two', settings)]

      const made = await Promise.all([one.runDue(), two.runDue()])
      pass(HOUR_MS)
      const again = [await one.runDue(), await two.runDue()]
      const [maker, other] = made[0] ? [one, two] : [two, one]

      assert.deepEqual([made.filter(Boolean).length, again], [1, [false, false]])
      assert.deepEqual(monitor.pings, ['GET /ping?of=plinth'])
      assert.equal(maker.archives().length, 1)
      assert.throws(other.archives, { code: 'ENOENT' })
      const { status, details } = await maker.health()
      assert.equal(status, 'UP')
      assert.equal(details.lastSuccess?.verified, engine.name === 'sqlite')
    })
  })

async function startTwoNodes(t: TestContext) {
  const { startNode, pass } = await startSuite(t, sqlite)
  const maker = await startNode('maker', { BACKUP_VERIFY: 'off' })
  const data = `${maker.config.folder}-other`
  mkdirSync(data)
  const other = await startNode('other', { SUITE_DATA: data })
  return { maker, other, pass }
}

test('a node is healthy while another one makes the daily backups', async (t) => {
  const { maker, other, pass } = await startTwoNodes(t)
  const succeeded = {
    at: '2026-11-14T02:30:09.000Z',
    file: '',
    bytes: 1,
    seconds: 1,
    verified: true,
  }
  await recordSuccess(other.config.record, succeeded)
  const statusAt = async (time: string) =>
    (await backupHealth(other.config, () => new Date(time))).status

  const before = await statusAt('2026-11-16T06:00:00Z')
  await maker.runDue()
  pass(60_000)
  await other.runDue()

  assert.equal(before, 'DOWN')
  assert.equal(await statusAt('2026-11-16T06:00:00Z'), 'UP')
  assert.equal(await statusAt('2026-11-17T06:00:00Z'), 'DOWN')
})

test('a node whose backup failed is healthy once another one has made it', async (t) => {
  const { maker, other, pass } = await startTwoNodes(t)
  const status = async () =>
    (await backupHealth(other.config, () => new Date('2026-11-16T06:00:00Z'))).status
  const fail = (at: string) =>
    recordFailure(other.config.record, { at, reason: 'The disk is full.' })

  await fail('2026-11-16T02:30:20.000Z')
  const before = await status()
  await maker.runDue()
  pass(HOUR_MS)
  await other.runDue()
  const after = await status()
  await fail('2026-11-16T05:00:00.000Z')

  assert.deepEqual([before, after, await status()], ['DOWN', 'UP', 'DOWN'])
})

async function startMonitor(t: TestContext) {
  const pings: string[] = []
  const server = createHttpServer(({ method, url }, response) => {
    pings.push(`${method} ${url}`)
    response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return { pings, url: `http://127.0.0.1:${port}/ping?of=plinth` }
}

test('a failed backup records the reason and is retried after an hour', async (t) => {
  const { startNode, pass } = await startSuite(t, sqlite)
  const monitor = await startMonitor(t)
  const ping = { BACKUP_PING_URL: monitor.url }
  const node = await startNode('node', { BACKUP_VERIFY: 'off', ...ping })
  const killed = await startNode('killed', { FAIL_POINT: 'backup:rows=kill' })
  assert.equal((await node.health()).status, 'UNKNOWN')
  assert.equal(await node.lastSuccess(), 0)
  writeFileSync(node.config.folder, 'where a folder should be')

  await killed.runDue()
  const first = await node.health()
  await node.runDue()
  const second = await node.health()
  assert.deepEqual(monitor.pings, [])
  rmSync(node.config.folder)
  pass(HOUR_MS - 1)
  assert.equal(await node.runDue(), false)
  pass(1)
  assert.equal(await node.runDue(), true)

  assert.deepEqual([first.status, second.status], ['DOWN', 'DOWN'])
  assert.equal(first.details.lastFailure?.reason, 'The process ended: SIGKILL.')
  assert.match(second.details.lastFailure?.reason ?? '', /^The folder .* cannot be written: EEXIST/)
  assert.equal((await readRecord(node.config.record)).failures, 2)
  assert.ok(((await node.lastSuccess()) ?? 0) > Date.now() / 1000 - 600)
  const later = (hours: number) => () => new Date(Date.now() + hours * HOUR_MS)
  assert.equal((await backupHealth(node.config, later(25))).status, 'UP')
  assert.equal((await backupHealth(node.config, later(27))).status, 'DOWN')
})

test('a backup process that ends with an uncaught exception counts as a failed backup', async (t) => {
  const { startNode } = await startSuite(t, sqlite)
  const NODE_OPTIONS = '--import=data:text/javascript,throw%20Error()'
  const node = await startNode('node', { NODE_OPTIONS })

  await node.runDue()

  const { status, details } = await node.health()
  assert.deepEqual(
    [status, details.lastFailure?.reason],
    ['DOWN', 'The process ended: exit code 1.'],
  )
  assert.equal((await readRecord(node.config.record)).failures, 1)
})

test('a backup process that is stopped along with the suite is no failed backup', async (t) => {
  const { startNode } = await startSuite(t, sqlite)
  const stopped = 'process.kill(process.pid,"SIGHUP");while(true);'
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(stopped)}`
  const node = await startNode('node', { NODE_OPTIONS })

  await node.runDue()

  const { status, details } = await node.health()
  assert.deepEqual([status, details.lastFailure], ['UNKNOWN', undefined])
})

test('a failed backup is retried, and a success counts, after a clock that was ahead was set back', async (t) => {
  const { startNode, pass } = await startSuite(t, sqlite)
  const node = await startNode('node', { BACKUP_VERIFY: 'off' })
  writeFileSync(node.config.folder, 'where a folder should be')
  pass(24 * HOUR_MS)
  await node.runDue()
  await recordFailure(node.config.record, { at: '2036-01-01T00:00:00.000Z', reason: 'full' })
  rmSync(node.config.folder)
  pass(-24 * HOUR_MS)

  const made = await node.runDue()

  assert.equal(made, true)
  assert.equal((await node.health()).status, 'UP')
})

test('a success recorded while the clock was ahead does not hide a later failure', async (t) => {
  const { startNode } = await startSuite(t, sqlite)
  const { config, health } = await startNode('node')
  const ahead = { at: '2036-01-01T00:00:00.000Z', file: '', bytes: 1, seconds: 1, verified: true }
  await recordSuccess(config.record, ahead)

  await recordFailure(config.record, { at: new Date().toISOString(), reason: 'full' })

  assert.equal((await health()).status, 'DOWN')
})

test('repeated failed verifications leave only one archive', async (t) => {
  const { env } = await testEnv(t, { NODE_ENV: 'test', BACKUP_KEEP: '2' })
  mkdirSync(env.SUITE_DATA as string)
  await (await startStack({ env, only })).close()
  const { folder, record } = loadBackups(env)
  let minute = 0
  const make = () => {
    minute += 1
    const at = new Date(Date.UTC(2026, 10, 16, 2, minute))
    return makeBackup(env, { verify: true, only, clock: () => at })
  }
  const archives = () =>
    readdirSync(folder).flatMap((name) => /^plinth-\w+T(\d{4})/.exec(name)?.[1] ?? [])
  t.after(() => armFailPoint({}))

  await make()
  await make()
  armFailPoint({ NODE_ENV: 'test', FAIL_POINT: 'verify:restored=error' })
  for (let time = 0; time < 3; time++) await assert.rejects(make(), /Fail point/)

  assert.deepEqual(archives(), ['0202', '0205'])
  assert.match((await readRecord(record)).succeeded?.file ?? '', /T0202/)
  armFailPoint({})
  await make()
  assert.deepEqual(archives(), ['0205', '0206'])
})

test('after the clock was set back, a new backup is kept', async (t) => {
  const { env } = await testEnv(t, { NODE_ENV: 'test', BACKUP_KEEP: '1' })
  mkdirSync(env.SUITE_DATA as string)
  await (await startStack({ env, only })).close()
  const makeIn = (year: number) =>
    makeBackup(env, { verify: false, only, clock: () => new Date(Date.UTC(year, 0, 1)) })

  await makeIn(2036)
  await makeIn(2026)
  const { file, pruned } = await makeIn(2027)

  assert.ok(readdirSync(loadBackups(env).folder).includes(basename(file)))
  assert.deepEqual(
    pruned.map(({ createdAt }) => createdAt.slice(0, 4)),
    ['2026'],
  )
})

test('verification with production settings makes no outgoing calls', async (t) => {
  const { env, folder } = await testEnv(t, { NODE_ENV: 'test' })
  for (const name of ['IDENTITY', 'STORAGE_FULL', 'PAYMENTS'])
    env[`${name}_MASTER_KEY`] = randomBytes(32).toString('base64')
  const webhook = await startCounting(t)
  const issuer = await startCounting(t)
  const provider = await startCounting(t)
  const smtp = await startCounting(t)
  mkdirSync(env.SUITE_DATA as string)
  const stack = await startStack({ env })
  t.after(() => stack.close())
  const identity = identityClient(
    stack.services.find(({ entry }) => entry.name === 'identity')?.url as string,
  )
  await identity.logIn('admin', 'password123123')
  await identity.endpoints.create({
    url: `https://localhost:${webhook.port}/`,
    types: ['user.registered'],
  })
  await stack.close()
  const key = newKeyText('live', randomBytes(32))
  const strict = Object.entries(env).filter(([name]) => !name.includes('_PASSWORD_'))
  const production = {
    ...Object.fromEntries(strict),
    NODE_ENV: 'production',
    IDENTITY_DEMO_ACCOUNTS: 'true',
    STORAGE_FULL_DEMO_ACCOUNTS: 'true',
    IDENTITY_PUBLIC_URL: 'https://id.example.org',
    IDENTITY_PASSKEY_RP_ID: 'example.org',
    WEBHOOK_ALLOW_CIDRS: 'loopback',
    SMTP_URL_FILE: join(folder, 'smtp'),
    MAIL_FROM: 'accounts@example.org',
    STORAGE_FULL_TRUSTED_ISSUER: `http://localhost:${issuer.port}`,
    STORAGE_FULL_TRUSTED_ISSUER_KEY: key,
    STORAGE_KEY_API_KEY: 'a key of this installation',
    PAYMENTS_ACCESS: 'issuer',
    PAYMENTS_REQUIRE_ISSUER: `http://localhost:${issuer.port}`,
    PAYMENTS_REQUIRE_ISSUER_KEY: key,
    PROVIDER_SECRET_KEY_FILE: join(folder, 'provider'),
    PROVIDER_API_BASE: `http://localhost:${provider.port}`,
    WORKERS: '2',
  }
  writeFileSync(production.SMTP_URL_FILE, `smtp://localhost:${smtp.port}`)
  writeFileSync(production.PROVIDER_SECRET_KEY_FILE, 'sk_test_of_a_provider')
  const operator = await openForOperator(loadConfig(production))
  await operator.users.resetPassword('user', { password: 'another password' })
  await operator.publishSample('user.registered')
  await operator.close()

  const { faults } = await makeBackup(production, { verify: true })

  assert.deepEqual(faults, [])
  const called = { webhook, issuer, provider, smtp }
  for (const [name, { connections }] of Object.entries(called)) assert.equal(connections(), 0, name)
  const { prepared } = await prepareStack({ ...production, WORKERS: '1' })
  const scratch = prepared.map(({ service }) => service.inScratch(folder).config)
  const delivering = scratch.filter((config) => /"delivers":true/.test(JSON.stringify(config)))
  assert.deepEqual([scratch.length, delivering], [4, []])
})

/** A server that counts connections and closes them. */
async function startCounting(t: TestContext) {
  let count = 0
  const server = createTcpServer((socket) => {
    count += 1
    socket.destroy()
  })
  await once(server.listen(0, 'localhost'), 'listening')
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, connections: () => count }
}

test('an invalid time or ping address is refused', () => {
  for (const at of ['2:30', '24:00', '02:60', 'daily'])
    assert.throws(() => loadBackups({ BACKUP_AT: at }), /BACKUP_AT/)
  for (const url of ['hc-ping.example', 'ftp://hc-ping.example', 'https://a:b@hc-ping.example'])
    assert.throws(() => loadBackups({ BACKUP_PING_URL: url }), /BACKUP_PING_URL/)
})
