import type { TestContext } from 'node:test'
import { listenForTest, testClock } from '@plinth/kit/testing'
import Stripe from 'stripe'
import { createProviderSandbox } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'

/** A fresh sandbox on an empty in-memory database, and the provider's own client for it. */
export async function startSandbox(
  t: Pick<TestContext, 'after'>,
  settings: Record<string, string> = {},
) {
  const clock = testClock()
  const config = loadConfig({
    SANDBOX_PORT: '0',
    SANDBOX_DATABASE_URL: 'sqlite::memory:',
    LOG_LEVEL: 'silent',
    ...settings,
  })
  const server = await createProviderSandbox(config, { clock })
  const { api, port, baseUrl } = await listenForTest(t, server)
  return { api, clock, server, baseUrl, stripe: stripeFor(port), port }
}

/** No retries, so that a test sees every answer. */
export function stripeFor(port: number, key = 'sk_test_sandbox'): Stripe {
  return new Stripe(key, {
    host: '127.0.0.1',
    port,
    protocol: 'http',
    maxNetworkRetries: 0,
    telemetry: false,
  })
}
