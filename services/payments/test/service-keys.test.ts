import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { describe, test } from 'node:test'
import type { Env } from '@plinth/kit/runtime'
import { type TestEngine, testClock } from '@plinth/kit/testing'
import { plinthSucceeds } from '../../../cli/test/run-plinth.ts'
import { startLoop } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

const UNKNOWN = '5b4f5a0e-6a53-4f62-93f6-0a1f6e0b7a11'
const SCOPES = ['payments:read', 'payments:write', 'refunds:write']
const CALLS: [method: string, path: string, scope: string][] = [
  ['POST', '/api/customers', 'payments:write'],
  ['GET', '/api/customers/cus_1', 'payments:read'],
  ['POST', '/api/checkout/sessions', 'payments:write'],
  ['GET', `/api/payments/${UNKNOWN}`, 'payments:read'],
  ['GET', '/api/payments', 'payments:read'],
  ['GET', `/api/payments/${UNKNOWN}/timeline`, 'payments:read'],
  ['POST', `/api/payments/${UNKNOWN}/refund`, 'refunds:write'],
  ['GET', '/api/refunds/re_1', 'payments:read'],
  ['GET', '/api/webhook-events', 'payments:read'],
  ['POST', '/api/webhook-events/evt_1/retry', 'payments:write'],
  ['GET', '/api/audit', 'payments:read'],
]
const OPERATIONS = /^\/api\/(payments$|payments\/.*timeline|webhook-events|audit)/

type Scope = { after(work: () => void): void }

/** The command line can only use the system clock. */
const systemTime = () => testClock(new Date().toISOString())

/** The service's command line, used while the service is running. */
function commandLine(databaseUrl: string, settings: Env = {}) {
  const env = { SUITE_DATA: tmpdir(), PAYMENTS_DATABASE_URL: databaseUrl, ...settings }
  const run = (...words: string[]) => plinthSucceeds([...words, '--service', 'payments'], { env })
  const create = async (name: string, ...scopes: string[]) => {
    const { stdout, stderr } = await run(
      'keys',
      'create',
      name,
      ...scopes.flatMap((scope) => ['--scope', scope]),
    )
    return { secret: stdout.trimEnd(), id: /^Key (\d+),/.exec(stderr)?.[1] ?? '' }
  }
  return { run, create }
}

async function start(t: Scope, engine: TestEngine, env: Env = {}) {
  const databaseUrl = await engine.freshUrl(t)
  const settings = { PAYMENTS_ACCESS: 'keys', PROVIDER_API_BASE: 'http://127.0.0.1:9', ...env }
  const service = await startPayments(t, { databaseUrl, env: settings, clock: systemTime() })
  return { ...service, databaseUrl, ...commandLine(databaseUrl, settings) }
}

for (const engine of engines)
  describe(`PAYMENTS_ACCESS=keys on ${engine.name}`, engine.options, () => {
    test('each call is 401 without a key, 403 without its scope, and passes with it', async (t) => {
      const { api, create } = await start(t, engine)
      const keys = new Map<string, string>()
      for (const scope of SCOPES) keys.set(scope, (await create(scope, scope)).secret)

      for (const [method, path, needed] of CALLS) {
        const without = await api.request(method, path)
        assert.equal(without.status, 401, path)
        assert.equal(without.headers.get('www-authenticate'), 'Bearer')
        for (const [scope, token] of keys) {
          const { status, body } = await api.request(method, path, { token })
          if (scope === needed) assert.ok(![401, 403].includes(status), `${path} ${status}`)
          else assert.deepEqual([status, body.code], [403, 'INSUFFICIENT_SCOPE'], path)
        }
      }
    })

    test('a first key from the command line creates others over HTTP, within its own scopes', async (t) => {
      const { api, create } = await start(t, engine)
      const { secret: token, id } = await create('office', 'keys:write', 'payments:read')
      const shop = { name: 'shop', scopes: ['payments:read'] }

      const made = await api.post('/api/service-keys', shop, { token })
      const wider = { name: 'shop', scopes: ['refunds:write'] }
      const refused = await api.post('/api/service-keys', wider, { token })

      assert.equal((await api.get('/api/service-keys')).status, 401)
      assert.deepEqual([made.status, refused.status], [201, 403])
      const { secret } = made.body
      assert.equal((await api.get('/api/payments', { token: secret })).status, 200)
      assert.equal((await api.get('/api/service-keys', { token: secret })).status, 403)
      const { body } = await api.get('/api/audit?sort=id,asc', { token })
      const rows = body.content.map(({ event, actor }: Record<string, string>) => [event, actor])
      assert.deepEqual(rows.slice(1), [
        ['SERVICE_KEY_CREATED', `key ${id} (office)`],
        ['ACCESS_DENIED', `key ${made.body.id} (shop)`],
      ])
    })

    test('configuration, webhook, health and return page stay public', async (t) => {
      const { api, deliver } = await start(t, engine)
      const event = { id: 'evt_1', type: 'customer.created', data: { object: { id: 'cus_1' } } }

      assert.equal((await api.get('/api/configuration')).status, 200)
      assert.equal((await deliver(event)).status, 200)
      assert.equal((await api.get('/actuator/health')).status, 200)
      assert.equal((await api.get('/api-test/index.html?checkout=success')).status, 200)
    })

    test('a key revoked on the command line stops working on both nodes immediately', async (t) => {
      const { api, databaseUrl, create, run, clock } = await start(t, engine)
      const env = { PAYMENTS_ACCESS: 'keys' }
      const other = await startPayments(t, { databaseUrl, env, clock })
      const { id, secret: token } = await create('shop', 'payments:read')
      const statuses = async () => {
        const replies = [api, other.api].map((node) => node.get('/api/payments', { token }))
        return (await Promise.all(replies)).map(({ status }) => status)
      }

      assert.deepEqual(await statuses(), [200, 200])
      await run('keys', 'revoke', id)
      assert.deepEqual(await statuses(), [401, 401])
    })

    test('the audit shows who refunded and every change to a key', async (t) => {
      const databaseUrl = await engine.freshUrl(t)
      const settings = { PAYMENTS_ACCESS: 'keys' }
      const { create, run } = commandLine(databaseUrl, settings)
      const { secret: token, id } = await create('back office', ...SCOPES)
      const { secret: old, id: oldId } = await create('old shop', 'payments:read')
      const loop = await startLoop(t, { databaseUrl, env: settings, clock: systemTime() })
      const { api, sandbox } = loop
      const checkout = {
        amount: 1000,
        currency: 'eur',
        description: 'A chair',
        businessReference: 'order',
        attemptReference: '1',
      }
      const { body } = await api.post('/api/checkout/sessions', checkout, { token })
      await sandbox.pay(body.checkoutSessionId)
      await sandbox.flush()
      const refund = { reference: 'r1', amount: 300 }
      const path = `/api/payments/${body.paymentId}/refund`
      assert.equal((await api.post(path, refund, { token })).status, 201)
      assert.equal((await api.post(path, refund, { token })).status, 201)
      assert.equal((await api.post(path, refund, { token: old })).status, 403)
      assert.equal((await api.post(path, refund, { token: old })).status, 403)
      const { stderr } = await run('keys', 'rotate', id, '--overlap', '60')
      await run('keys', 'revoke', oldId)
      assert.equal((await api.get('/api/payments', { token: old })).status, 401)

      const { body: page } = await api.get('/api/audit?sort=id,asc', { token })

      const operator = 'command line'
      const successor = /^Key (\d+),/m.exec(stderr)?.[1]
      assert.deepEqual(
        page.content.map(({ event, actor, subject }: Record<string, string>) => [
          event,
          actor,
          subject,
        ]),
        [
          ['SERVICE_KEY_CREATED', operator, `key ${id} (back office)`],
          ['SERVICE_KEY_CREATED', operator, `key ${oldId} (old shop)`],
          [
            'REFUND_REQUESTED',
            `key ${id} (back office)`,
            `300 under r1 of payment ${body.paymentId}`,
          ],
          ['ACCESS_DENIED', `key ${oldId} (old shop)`, 'POST /api/payments/:id/refund'],
          ['SERVICE_KEY_ROTATED', operator, `key ${successor} (back office)`],
          ['SERVICE_KEY_REVOKED', operator, `key ${oldId} (old shop)`],
          ['SERVICE_KEY_REFUSED', null, `key ${oldId} (old shop)`],
        ],
      )
      assert.match(page.content[2].address, /127\.0\.0\.1/)
    })

    test('an Idempotency-Key is scoped to its caller, and stays so when the key is rotated', async (t) => {
      const databaseUrl = await engine.freshUrl(t)
      const settings = { PAYMENTS_ACCESS: 'keys' }
      const { create, run } = commandLine(databaseUrl, settings)
      const anna = await create('anna', 'payments:write')
      const bert = await create('bert', 'payments:write')
      const rotated = (await run('keys', 'rotate', anna.id)).stdout.split('\n', 1)[0] ?? ''
      const clock = systemTime()
      const { api } = await startLoop(t, { databaseUrl, webhooks: false, env: settings, clock })
      const headers = { 'idempotency-key': 'k'.repeat(200) }
      const customerOf = async (token: string) => {
        const customer = { email: 'a@localhost' }
        const { status, body } = await api.post('/api/customers', customer, { token, headers })
        assert.equal(status, 201, JSON.stringify(body))
        return body.id
      }

      const first = await customerOf(anna.secret)
      assert.equal(await customerOf(rotated), first)
      assert.notEqual(await customerOf(bert.secret), first)
    })
  })

for (const engine of engines)
  describe(`PAYMENTS_ACCESS=open in production on ${engine.name}`, engine.options, () => {
    test('operations still require a key, other calls do not', async (t) => {
      const env = { NODE_ENV: 'production', PAYMENTS_ACCESS: 'open' }
      const { api, create } = await start(t, engine, env)
      const { secret: token } = await create('operator', ...SCOPES)
      assert.match(token, /^plk_live_/)

      for (const [method, path] of CALLS) {
        const isOperation = OPERATIONS.test(path)
        assert.equal((await api.request(method, path)).status === 401, isOperation, path)
        assert.notEqual((await api.request(method, path, { token })).status, 401, path)
      }
    })
  })

for (const engine of engines)
  describe(`plinth keys on ${engine.name}`, engine.options, () => {
    test('lists keys without their secrets, and refuses invalid arguments', async (t) => {
      const databaseUrl = await engine.freshUrl(t)
      const { run, create } = commandLine(databaseUrl)
      const { secret, id } = await create('shop', 'payments:read', 'payments:write')
      const codeOf = async (...words: string[]) => {
        const failure = await run(...words).catch((error) => error)
        return [failure.code, failure.stderr.split('\n')[0]]
      }

      assert.match((await run('keys', '--help')).stdout, /\n {2}keys create <name> /)
      const { stdout } = await run('keys', 'list')
      assert.match(
        stdout,
        new RegExp(`^${id}\tplk_test_\\w{3}…\tshop\tpayments:read,payments:write\t`),
      )
      assert.ok(!stdout.includes(secret))
      for (const words of [
        ['create', 'shop'],
        ['create', 'shop', '--scope', 'everything'],
        ['create', ' ', '--scope', 'payments:read'],
        ['create', 'shop', '--scope', 'payments:read', '--expires', 'soon'],
        ['rotate', 'x'],
        ['rotate', id, '--overlap', '604801'],
      ])
        assert.equal((await codeOf('keys', ...words))[0], 64, words.join(' '))
      assert.deepEqual(await codeOf('keys', 'rotate', '99'), [1, 'There is no such key.'])
    })
  })
