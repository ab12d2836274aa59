import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { readSettings } from '@plinth/kit/runtime'
import { testClock } from '@plinth/kit/testing'
import { stripeSettings } from '../src/provider/stripe/settings.ts'
import { openStripe } from '../src/provider/stripe/stripe.ts'
import { openLedger } from './ledger-provider.ts'
import { providerSuite } from './provider-suite.ts'
import { startSandbox } from './start-loop.ts'
import { WEBHOOK_SECRET } from './start-payments.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

providerSuite('Stripe, played by the sandbox,', async (t) => {
  const clock = testClock()
  const sandbox = await startSandbox(t, clock)
  const receiver = await startReceiver(t)
  await sandbox.sendWebhooksTo(receiver.url, WEBHOOK_SECRET)
  const env = {
    PROVIDER_SECRET_KEY: 'sk_test_sandbox',
    PROVIDER_API_BASE: sandbox.baseUrl,
    PROVIDER_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PROVIDER_TIMEOUT_MILLISECONDS: '60000',
  }
  const provider = openStripe({ ...readSettings(env, stripeSettings), providerRetries: 0 })
  const deliveries = async () => {
    await sandbox.flush()
    return receiver.received
  }
  const signatureHeaders = ['provider-signature', 'stripe-signature']
  return { provider, clock, signatureHeaders, pay: sandbox.pay, deliveries }
})

providerSuite('A ledger of another shape', async () => {
  const clock = testClock()
  return { clock, signatureHeaders: ['x-ledger-mac'], ...openLedger(clock) }
})

/** Keeps each delivery as it arrived. */
async function startReceiver(t: TestScope) {
  const received: { bytes: Buffer; headers: Record<string, string[]> }[] = []
  const server = createServer(async (request, response) => {
    const headers = Object.entries(request.headersDistinct).map(([name, values = []]) => [
      name,
      values,
    ])
    received.push({ bytes: await buffer(request), headers: Object.fromEntries(headers) })
    response.end()
  })
  await once(server.listen(0, 'localhost'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { received, url: `http://localhost:${(server.address() as AddressInfo).port}` }
}
