import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { startStack } from '../stack/stack.ts'
import { checkedServices } from './checked-services.ts'
import { testEnv } from './test-env.ts'

// On Linux all of 127.0.0.0/8 is loopback.
const isLinux = process.platform === 'linux'

describe('payments under npm start', () => {
  test('uses the sandbox as its provider when none is configured', async (t) => {
    const { payments } = await start(t, {})

    const reply = await checkOut(payments)

    assert.equal(reply.status, 201)
    assert.match(reply.body.checkoutUrl, /^http:\/\/localhost:\d+\//)
  })

  test('finds the sandbox at its configured address', {
    skip: !isLinux && 'needs Linux',
  }, async (t) => {
    const { payments } = await start(t, { SANDBOX_HOST: '127.0.0.2' })

    const reply = await checkOut(payments)

    assert.equal(reply.status, 201)
    assert.match(reply.body.checkoutUrl, /^http:\/\/127\.0\.0\.2:\d+\//)
  })

  test('has no provider with SUITE_SANDBOX=off, and no sandbox runs', async (t) => {
    const { payments, names } = await start(t, { SUITE_SANDBOX: 'off' })

    const reply = await checkOut(payments)

    assert.equal(reply.status, 503)
    assert.ok(!names.includes('provider-sandbox'))
  })

  test('has no provider when the keys are blank', async (t) => {
    const { payments } = await start(t, { PROVIDER_SECRET_KEY: '', PROVIDER_WEBHOOK_SECRET: '' })

    const reply = await checkOut(payments)

    assert.equal(reply.status, 503)
  })
})

async function start(t: TestContext, overrides: Record<string, string>) {
  const { env } = await testEnv(t, overrides)
  const stack = await startStack({ env, only: checkedServices(t) })
  t.after(() => stack.close())
  const payments = stack.services.find(({ entry }) => entry.name === 'payments')?.url
  return { payments, names: stack.services.map(({ entry }) => entry.name) }
}

async function checkOut(payments: string | undefined) {
  const reply = await fetch(`${payments}/api/checkout/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      businessReference: 'order-1',
      attemptReference: 'attempt-1',
      description: 'A chair',
      amount: 4200,
      currency: 'eur',
    }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape it expects
  return { status: reply.status, body: (await reply.json()) as any }
}
