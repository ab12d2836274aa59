import Stripe from 'stripe'
import { providerSuite } from './provider-suite.ts'
import { startSandbox } from './start-sandbox.ts'

providerSuite('the sandbox', async (t) => (await startSandbox(t)).stripe)

// The same suite against the real provider's test mode, with a key for it.
const key = process.env.STRIPE_TEST_KEY
if (key?.includes('_test_')) {
  const stripe = new Stripe(key, { telemetry: false })
  providerSuite('the provider in test mode', () => stripe)
} else {
  console.log('The real provider is not asked: STRIPE_TEST_KEY=sk_test_… would add it.')
}
