import assert from 'node:assert/strict'
import type { Clock, Env } from '@plinth/kit/runtime'
import { listenForTest, type TestClock, testClock } from '@plinth/kit/testing'
import { createProviderSandbox, loadConfig } from '@plinth/provider-sandbox'
import type { PaymentsConfig } from '../src/config.ts'
import { type Sandbox, sandboxAt } from './sandbox.ts'
import { startPayments, WEBHOOK_SECRET } from './start-payments.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

type Options = {
  env?: Env
  clock?: TestClock
  databaseUrl?: string
  webhooks?: boolean
  overrides?: Partial<PaymentsConfig>
}

let count = 0

/** The payment service and the provider it talks to, on one clock, connected over HTTP. */
export async function startLoop(t: TestScope, options: Options = {}) {
  const clock = options.clock ?? testClock()
  const sandbox = await startSandbox(t, clock)
  const started = await startPayments(t, {
    clock,
    databaseUrl: options.databaseUrl,
    overrides: options.overrides,
    env: { ...providerEnv(sandbox), ...options.env },
  })
  const { api } = started
  if (options.webhooks !== false) await sandbox.sendWebhooksTo(started.baseUrl, WEBHOOK_SECRET)

  const checkOut = (request: object = {}) =>
    api.post('/api/checkout/sessions', checkoutBody(request))
  const payment = async (id: string) => (await api.get(`/api/payments/${id}`)).body
  const timeline = async (id: string) => (await api.get(`/api/payments/${id}/timeline`)).body
  const refund = (id: string, request: object) => api.post(`/api/payments/${id}/refund`, request)

  /** A payment of 1000 that a customer has paid by card. */
  const paid = async (request: object = {}) => {
    const { body } = await checkOut(request)
    await sandbox.pay(body.checkoutSessionId)
    await sandbox.flush()
    return body as { paymentId: string; checkoutSessionId: string; checkoutUrl: string }
  }

  /** How many payments have reached each status. */
  const counted = async () => {
    const families = await started.server.metrics.read()
    const payments = families.find(({ name }) => name === 'plinth_payments_total')
    assert.ok(payments?.type === 'counter')
    return Object.fromEntries(payments.samples.map(({ labels, value }) => [labels.status, value]))
  }

  return { ...started, sandbox, checkOut, payment, timeline, refund, paid, counted }
}

export function checkoutBody(request: object = {}) {
  count += 1
  return {
    amount: 1000,
    currency: 'eur',
    description: 'A chair',
    businessReference: `order-${count}`,
    attemptReference: 'attempt-1',
    ...request,
  }
}

export function providerEnv(sandbox: Pick<Sandbox, 'baseUrl'>): Env {
  return { PROVIDER_SECRET_KEY: 'sk_test_sandbox', PROVIDER_API_BASE: sandbox.baseUrl }
}

export async function startSandbox(t: TestScope, clock: Clock = testClock()): Promise<Sandbox> {
  const config = loadConfig({
    SANDBOX_PORT: '0',
    SANDBOX_DATABASE_URL: 'sqlite::memory:',
    LOG_LEVEL: 'silent',
  })
  const { api, baseUrl } = await listenForTest(t, await createProviderSandbox(config, { clock }))
  return sandboxAt(api, baseUrl)
}
