import assert from 'node:assert/strict'
import dns from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'
import { describe, type TestContext, test } from 'node:test'
import { loadConfig } from '../src/config.ts'
import { startReceiver } from './receiver.ts'
import { startSandbox, stripeFor } from './start-sandbox.ts'

const TOKEN = 'a token for the controls of this test'
const KEY = 'sk_test_of_this_installation'
const PRODUCTION = {
  NODE_ENV: 'production',
  SANDBOX_ALLOW_PRODUCTION: 'true',
  SANDBOX_SECRET_KEY: KEY,
  SANDBOX_CONTROL_TOKEN: TOKEN,
  SANDBOX_SEED: 'a seed of this installation',
}

async function start(t: TestContext, settings: Record<string, string> = {}) {
  const sandbox = await startSandbox(t, { ...PRODUCTION, ...settings })
  const control = (path: string, body?: unknown) =>
    sandbox.api.post(`/sandbox/api/${path}`, body, { token: TOKEN })
  const deliveries = async () => {
    await control('deliveries/flush')
    const { body } = await sandbox.api.get('/sandbox/api/deliveries', { token: TOKEN })
    return body as { attempts: { error: string | null; response: { status: number } | null }[] }[]
  }
  return { ...sandbox, control, deliveries, stripe: stripeFor(sandbox.port, KEY) }
}

describe('in production', () => {
  test('the key of the API has to be configured', () => {
    const { SANDBOX_SECRET_KEY: _key, ...without } = PRODUCTION

    assert.throws(() => loadConfig(without), /SANDBOX_SECRET_KEY/)
    assert.throws(
      () => loadConfig({ ...PRODUCTION, SANDBOX_CONTROL_TOKEN: 'short' }),
      /CONTROL_TOK/,
    )
  })

  test('a seed that others know or guess is refused, and so is none', () => {
    const { SANDBOX_SEED: _seed, ...without } = PRODUCTION

    assert.throws(() => loadConfig(without), /SANDBOX_SEED/)
    assert.throws(() => loadConfig({ ...PRODUCTION, SANDBOX_SEED: 'plinth' }), /SANDBOX_SEED/)
  })

  for (const url of [
    'http://127.0.0.1:9/',
    'https://169.254.169.254/latest',
    'http://93.184.215.14/',
  ])
    test(`an endpoint at ${url}, which reads what is inside, is refused`, async (t) => {
      const { control, stripe } = await start(t)

      const added = await control('webhook-endpoints', { url, secret: 'whsec_mine' })
      const created = stripe.webhookEndpoints.create({ url, enabled_events: ['*'] })

      assert.equal(added.status, 400)
      await assert.rejects(created, /Invalid URL/)
    })

  test('an endpoint cannot be moved to an address inside', async (t) => {
    const { stripe } = await start(t)
    const allowed = 'https://93.184.215.14/hook'
    const { id } = await stripe.webhookEndpoints.create({ url: allowed, enabled_events: ['*'] })

    await assert.rejects(stripe.webhookEndpoints.update(id, { url: 'https://10.0.0.1/' }))
  })

  test('an endpoint whose name is looked up slowly does not keep other calls waiting', async (t) => {
    const { stripe } = await start(t)
    const names = holdLookups(t)
    const creating = stripe.webhookEndpoints.create({
      url: 'https://slow.example/hook',
      enabled_events: ['*'],
    })
    await names.asked

    const other = stripe.customers.create({ email: 'ada@example.com' }, { timeout: 10_000 })
    const customer = await other.finally(() => names.answer('93.184.215.14'))
    const endpoint = await creating

    assert.equal(customer.email, 'ada@example.com')
    assert.equal(endpoint.url, 'https://slow.example/hook')
  })

  test('nothing is sent to an address inside that came with a scenario', async (t) => {
    const { api, control, deliveries, stripe } = await start(t)
    const receiver = await startReceiver(t)
    const { body: scenario } = await api.get('/sandbox/api/scenario', { token: TOKEN })
    const allowed = 'https://93.184.215.14/hook'
    const endpoint = await stripe.webhookEndpoints.create({ url: allowed, enabled_events: ['*'] })
    const { body: filled } = await api.get('/sandbox/api/scenario', { token: TOKEN })
    const text = JSON.stringify(filled).replaceAll(allowed, receiver.url)
    assert.ok(scenario && endpoint)

    const put = await api.put('/sandbox/api/scenario', JSON.parse(text), { token: TOKEN })
    await control('events', { type: 'customer.created', object: { id: 'cus_1' } })
    const [delivery] = await deliveries()

    assert.equal(put.status, 204)
    assert.equal(delivery?.attempts[0]?.error, 'the address is not on the internet')
    assert.equal(receiver.received.length, 0)
  })

  test('the endpoint of the settings may be on this machine, and so may allowed networks', async (t) => {
    const receiver = await startReceiver(t)
    const { control, deliveries } = await start(t, {
      SANDBOX_WEBHOOK_URL: receiver.url,
      SANDBOX_WEBHOOK_SECRET: 'whsec_of_this_installation',
      WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8',
    })

    await control('events', { type: 'customer.created', object: { id: 'cus_1' } })
    const [delivery] = await deliveries()
    const added = await control('webhook-endpoints', { url: 'https://10.1.2.3/', secret: 'whsec' })

    assert.equal(delivery?.attempts[0]?.response?.status, 200)
    assert.equal(receiver.received.length, 1)
    assert.equal(added.status, 201)
  })
})

/** A resolver that answers when the test says so. */
function holdLookups(t: TestContext) {
  const { lookup } = dns
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
  const held = async (_name: string, ...options: unknown[]) => {
    asked.resolve()
    return Reflect.apply(lookup, dns, [await answered.promise, ...options])
  }
  Object.assign(dns, { lookup: held })
  syncBuiltinESMExports()
  t.after(() => {
    dns.lookup = lookup
    syncBuiltinESMExports()
  })
  return { asked: asked.promise, answer: answered.resolve }
}
