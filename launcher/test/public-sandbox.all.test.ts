import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { apiFor } from '@plinth/kit/testing'
import { until } from '../../test/until.ts'
import { startStack } from '../stack/stack.ts'
import { checkedServices } from './checked-services.ts'
import { testEnv } from './test-env.ts'

const SUITE = 'https://app.example'
const TOKEN = 'a token for the controls of this test'
const KEY = randomBytes(32).toString('base64')
const PRODUCTION = {
  NODE_ENV: 'production',
  SUITE_PUBLIC_URL: SUITE,
  SUITE_SANDBOX: 'on',
  IDENTITY_MASTER_KEY: KEY,
  IDENTITY_PASSWORD_MEMORY_KIB: '',
  IDENTITY_PASSWORD_PASSES: '',
  STORAGE_FULL_MASTER_KEY: KEY,
  STORAGE_FULL_PASSWORD_MEMORY_KIB: '',
  STORAGE_FULL_PASSWORD_PASSES: '',
  STORAGE_KEY_API_KEY: 'a key of our own, long enough',
  PAYMENTS_ACCESS: 'open',
}

const READ = ['webhook-endpoints', 'events', 'requests', 'deliveries', 'sessions', 'scenario']
const FORGED = { type: 'checkout.session.completed', object: { id: 'cs_forged' } }
const ENDPOINT = { url: 'http://127.0.0.1:1/', secret: 'of the attacker' }

describe('attacks on a sandbox that runs in production at one address', () => {
  test('its webhook secret and the addresses of customers are not served to the public', async (t) => {
    const { suite } = await start(t)

    for (const path of READ)
      assert.equal((await suite.get(`/sandbox/sandbox/api/${path}`)).status, 404, path)
    const customers = await suite.get('/sandbox/v1/customers', { token: 'sk_test_x' })
    assert.equal(customers.status, 404)
    assert.equal((await suite.get('/sandbox/sandbox/')).status, 404)
  })

  test('the public cannot forge a webhook, nor have requests sent to an address inside', async (t) => {
    const { suite } = await start(t)

    const forged = await suite.post('/sandbox/sandbox/api/events', FORGED)
    const added = await suite.post('/sandbox/sandbox/api/webhook-endpoints', ENDPOINT)

    assert.deepEqual([forged.status, added.status], [404, 404])
  })

  test('a path that leaves the pages of payers is not served either', async (t) => {
    const { stack } = await start(t)

    for (const path of ['/pay/../sandbox/api/events', '/pay/..%2fsandbox/api/events', '//sandbox'])
      assert.equal(await statusOf(stack.landingUrl, `/sandbox${path}`), 404, path)
  })

  test('at its own port the controls are closed without a token, and open to the configured one', async (t) => {
    const closed = await start(t)
    const open = await start(t, { SANDBOX_CONTROL_TOKEN: TOKEN })
    const path = '/sandbox/api/webhook-endpoints'

    const refused = await closed.sandbox.get(path)
    assert.equal(refused.status, 403)
    assert.match(refused.body.detail, /SANDBOX_CONTROL_TOKEN/)
    assert.equal((await open.sandbox.get(path)).status, 401)
    assert.equal((await open.sandbox.get(path, { token: `${TOKEN}x` })).status, 401)
    assert.equal((await open.sandbox.post('/sandbox/api/reset')).status, 401)
    assert.equal((await open.sandbox.get(path, { token: TOKEN })).status, 200)
  })

  test("at its own port the provider's API takes no key but that of payments", async (t) => {
    const { sandbox } = await start(t)

    const refused = await sandbox.get('/v1/customers', { token: 'sk_test_of_a_stranger' })

    assert.equal(refused.status, 401)
    assert.match(refused.body.error.message, /^Invalid API Key provided/)
  })

  test('the public cannot compute the id of a checkout, which opens its page', async (t) => {
    const { suite, payments } = await start(t)
    const { body: opened } = await payments.post('/api/checkout/sessions', ORDER)

    const numbers = Array.from({ length: 5 }, (_, number) => number)
    const guessed = numbers.map((number) => idFrom('plinth', number))

    for (const id of guessed) assert.equal((await suite.get(`/sandbox/pay/${id}`)).status, 404, id)
    assert.equal((await suite.get(new URL(opened.checkoutUrl).pathname)).status, 200)
  })

  test('a payer can still open the page of a checkout and pay', async (t) => {
    const { suite, payments } = await start(t)
    const { status, body: opened } = await payments.post('/api/checkout/sessions', ORDER)
    assert.equal(status, 201)
    const { origin, pathname } = new URL(opened.checkoutUrl)

    const page = await suite.get(pathname)
    const paid = await suite.request('POST', `${pathname}/card`, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'number=4242424242424242&expiry=12/60&cvc=123',
    })

    assert.equal(origin, SUITE)
    assert.equal(page.status, 200)
    const [, style = ''] = /href="([^"]+\.css)"/.exec(page.body) ?? []
    assert.equal((await suite.get(style)).status, 200)
    assert.equal(paid.status, 303)
    const settled = await until(
      () => payments.get(`/api/payments/${opened.paymentId}`),
      ({ body }) => body.status === 'PAID',
    )
    assert.equal(settled.body.status, 'PAID')
  })

  test('the list of services links its console at this machine, not at the public address', async (t) => {
    const { suite, stack } = await start(t)

    const { body } = await suite.get('/api/services')

    const listed = body.find(({ name }: { name: string }) => name === 'provider-sandbox')
    const running = stack.services.find(({ entry }) => entry.name === 'provider-sandbox')
    assert.equal(listed.consoleUrl, `${running?.url}/sandbox/`)
    const health = new URL(listed.healthUrl)
    assert.equal((await suite.get(health.pathname)).status, 200)
  })
})

test('in development everything of the sandbox is served at the one address', async (t) => {
  const { suite, sandbox } = await start(t, { NODE_ENV: 'development', PAYMENTS_ACCESS: 'open' })

  for (const path of READ)
    assert.equal((await suite.get(`/sandbox/sandbox/api/${path}`)).status, 200, path)
  assert.equal((await suite.get('/sandbox/sandbox/')).status, 200)
  assert.equal((await sandbox.get('/v1/customers', { token: 'sk_test_anything' })).status, 200)
})

/** As the sandbox derives the id of its checkout with this number. */
function idFrom(seed: string, number: number): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
  const bytes = createHmac('sha512', seed).update(`cs_test:${number}:0`).digest()
  return `cs_test_${[...bytes.subarray(0, 58)].map((byte) => letters[byte % letters.length]).join('')}`
}

/** `fetch` would resolve the dots itself. */
async function statusOf(baseUrl: string, path: string): Promise<number | undefined> {
  const [reply] = await once(get(baseUrl, { path }), 'response')
  reply.resume()
  return reply.statusCode
}

const ORDER = {
  businessReference: 'order-1',
  attemptReference: 'attempt-1',
  description: 'A chair',
  amount: 4200,
  currency: 'eur',
}

async function start(t: TestContext, overrides: Record<string, string> = {}) {
  const { env } = await testEnv(t, { ...PRODUCTION, ...overrides })
  const stack = await startStack({ env, only: checkedServices(t) })
  t.after(() => stack.close())
  const at = (name: string) =>
    apiFor(stack.services.find(({ entry }) => entry.name === name)?.url ?? '')
  return {
    stack,
    suite: apiFor(stack.landingUrl),
    sandbox: at('provider-sandbox'),
    payments: at('payments'),
  }
}
