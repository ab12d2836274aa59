import type { Env } from '@plinth/kit/runtime'
import {
  type Api,
  bothEngines as eitherEngine,
  enginesWith,
  listenForTest,
  testClock,
} from '@plinth/kit/testing'
import { signPayload } from '@plinth/kit/tokens'
import { openPayments } from '../src/app.ts'
import { loadConfig, type PaymentsConfig } from '../src/config.ts'
import { migrations } from '../src/payment/database/migrations/index.ts'
import type { PaymentProvider } from '../src/provider/provider.ts'

export const engines = enginesWith(migrations)
export const bothEngines = enginesWith(migrations, eitherEngine)

export const WEBHOOK_SECRET = 'whsec_of_the_tests'

/** The minimum settings that a live provider key requires. */
export const LIVE = {
  PROVIDER_SECRET_KEY: 'sk_live_x',
  PAYMENTS_ACCESS: 'keys',
  PROVIDER_SUCCESS_URL: 'https://shop.example/thanks',
  PROVIDER_CANCEL_URL: 'https://shop.example/basket',
}

type TestScope = { after(work: () => Promise<void> | void): void }

type Options = {
  env?: Env
  clock?: ReturnType<typeof testClock>
  databaseUrl?: string
  overrides?: Partial<PaymentsConfig>
  /** Another provider than the configured one. */
  open?: () => PaymentProvider
}

/** A payment service on real HTTP and its own database; closed when the test ends. */
export async function startPayments(t: TestScope, options: Options = {}) {
  const clock = options.clock ?? testClock()
  const config = loadConfig({
    LOG_LEVEL: 'silent',
    PAYMENTS_DATABASE_URL: options.databaseUrl ?? 'sqlite::memory:',
    PROVIDER_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PAYMENTS_LOOK_EVERY_SECONDS: '3600',
    PAYMENTS_POLL_EVERY_SECONDS: '3600',
    PAYMENTS_OPERATIONS: 'on',
    ...options.env,
  })
  const events = { ...config.events, delivers: false }
  const { server, jobs, payments, dispatcher } = await openPayments(
    { ...config, events, ...options.overrides },
    { clock, open: options.open },
  )
  const { api, baseUrl } = await listenForTest(t, server)
  const deliver = delivererTo(api, clock)
  return { api, baseUrl, clock, server, jobs, payments, dispatcher, deliver }
}

/** Signs an event as the provider does and posts it. */
export function delivererTo(api: Api, clock: () => Date, secret = WEBHOOK_SECRET) {
  return (event: unknown) => {
    const body = JSON.stringify(event)
    return api.request('POST', '/api/provider/webhook', {
      body,
      headers: {
        'content-type': 'application/json',
        'provider-signature': signPayload(body, [secret], clock()),
      },
    })
  }
}
