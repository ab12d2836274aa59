import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from './browser.ts'
import { violationsOf } from './consoles/accessibility.ts'
import { alternateWidths } from './consoles/both-widths.ts'
import { startSuite } from './stack.ts'

const skip = await browserSkip()

type Shop = { url: string }
type Sandbox = ReturnType<typeof sandboxAt>

describe('the hosted checkout in a browser', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let sandbox: Sandbox
  let shop: Shop

  before(async () => {
    browser = await openBrowser(shared)
    shop = await startShop(shared)
    sandbox = sandboxAt((await startSuite(shared)).urlOf('provider-sandbox'))
  })

  /** A checkout opened in a browser, by default with scripts off. */
  async function openCheckout(t: TestContext, javaScriptEnabled = false) {
    const session = await sandbox.createSession(shop)
    const context = await browser.newContext({ javaScriptEnabled, locale: 'en-GB' })
    t.after(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    const breaches: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error') breaches.push(message.text())
    })
    const overflows = alternateWidths(page)
    t.after(() => assert.deepEqual([...breaches, ...overflows], []))
    await page.goto(session.url)
    return { page, context, session }
  }

  const payByCard = async (page: Page, number: string) => {
    await page.getByLabel('Card number').fill(number)
    await page.getByRole('button', { name: 'Pay €25.00', exact: true }).click()
  }

  test('pays by card with one click and returns to the shop', async (t) => {
    const { page, session } = await openCheckout(t)
    await page.getByText('SANDBOX').first().waitFor()

    await page.getByRole('button', { name: 'Pay €25.00', exact: true }).click()

    await page.getByRole('heading', { name: 'Thank you' }).waitFor()
    assert.ok(page.url().endsWith(`/success?session=${session.id}`))
    assert.equal((await sandbox.readSession(session.id)).payment_status, 'paid')
  })

  test('shows why a card was declined, then takes another', async (t) => {
    const { page, session } = await openCheckout(t)

    await payByCard(page, '4000 0000 0000 9995')
    await page.getByRole('alert').getByText('Your card has insufficient funds.').waitFor()
    assert.equal((await sandbox.readSession(session.id)).status, 'open')
    await payByCard(page, '4242 4242 4242 4242')

    await page.getByRole('heading', { name: 'Thank you' }).waitFor()
    assert.equal((await sandbox.readSession(session.id)).payment_status, 'paid')
  })

  test('lets the bank ask the customer first', async (t) => {
    const { page, session } = await openCheckout(t)

    await payByCard(page, '4000 0025 0000 3155')
    await page.getByRole('heading', { name: 'Is it you?' }).waitFor()
    await page.getByRole('button', { name: 'Yes, confirm' }).click()

    await page.getByRole('heading', { name: 'Thank you' }).waitFor()
    assert.equal((await sandbox.readSession(session.id)).payment_status, 'paid')
  })

  test('takes a bank debit that settles later', async (t) => {
    const { page, session } = await openCheckout(t)

    await page.getByRole('button', { name: 'Pay €25.00 by bank debit' }).click()
    await page.getByRole('heading', { name: 'Thank you' }).waitFor()
    const before = await sandbox.readSession(session.id)
    await sandbox.advance(30)

    assert.deepEqual([before.status, before.payment_status], ['complete', 'unpaid'])
    assert.equal((await sandbox.readSession(session.id)).payment_status, 'paid')
  })

  test('can be cancelled, and the session stays open', async (t) => {
    const { page, session } = await openCheckout(t)

    await page.getByRole('link', { name: 'Cancel and go back' }).click()

    await page.getByRole('heading', { name: 'Another time' }).waitFor()
    assert.equal((await sandbox.readSession(session.id)).status, 'open')
  })

  test('can be made to expire, and then takes no payment', async (t) => {
    const { page, session } = await openCheckout(t)

    await page.getByRole('button', { name: 'Let it expire' }).click()

    await page.getByRole('heading', { name: 'This checkout has expired' }).waitFor()
    assert.equal(await page.getByRole('button').count(), 0)
    assert.equal((await sandbox.readSession(session.id)).status, 'expired')
  })

  test('open in two tabs is paid once, and both return to the shop', async (t) => {
    const { page, context, session } = await openCheckout(t)
    const other = await context.newPage()
    await other.goto(session.url)
    const press = (tab: Page) =>
      tab.getByRole('button', { name: 'Pay €25.00', exact: true }).click()

    await Promise.all([press(page), press(other)])

    for (const tab of [page, other]) await tab.getByRole('heading', { name: 'Thank you' }).waitFor()
    assert.deepEqual(await sandbox.capturedFor(session.id), [2500])
  })

  test('is accessible, even when it declines a card, and fits a phone', async (t) => {
    const { page } = await openCheckout(t, true)
    await page.setViewportSize({ width: 320, height: 640 })
    assert.deepEqual(await violationsOf(page), [])

    await payByCard(page, '4000 0000 0000 0002')
    await page.getByRole('alert').waitFor()

    assert.deepEqual(await violationsOf(page), [])
    const wide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth'
    assert.equal(await page.evaluate(wide), false)
  })
})

/** What the tests call at the sandbox apart from its pages. */
function sandboxAt(url: string) {
  const authorization = 'Bearer sk_test_e2e'
  const call = async (path: string, options: RequestInit = {}) => {
    const headers = { authorization, ...options.headers }
    const response = await fetch(`${url}${path}`, { ...options, headers })
    return JSON.parse(await response.text())
  }
  return {
    url,
    createSession: (shop: Shop): Promise<{ id: string; url: string }> =>
      call('/v1/checkout/sessions', { method: 'POST', body: orderAt(shop) }),
    readSession: (id: string): Promise<{ status: string; payment_status: string }> =>
      call(`/v1/checkout/sessions/${id}`),
    advance: (seconds: number) =>
      call('/sandbox/api/clock/advance', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ seconds }),
      }),
    capturedFor: async (id: string): Promise<number[]> => {
      const { payments } = await call('/sandbox/api/books')
      const books: { session: string; captured: number }[] = payments
      return books.filter(({ session }) => session === id).map(({ captured }) => captured)
    },
  }
}

function orderAt(shop: Shop): URLSearchParams {
  return new URLSearchParams({
    mode: 'payment',
    success_url: `${shop.url}/success?session={CHECKOUT_SESSION_ID}`,
    cancel_url: `${shop.url}/cancel`,
    'line_items[0][quantity]': '1',
    'line_items[0][price_data][currency]': 'eur',
    'line_items[0][price_data][unit_amount]': '2500',
    'line_items[0][price_data][product_data][name]': 'A book about tabs',
  })
}

/** The shop that the customer came from, with a page for each way back. */
async function startShop(shared: { after(work: () => Promise<void>): void }): Promise<Shop> {
  const server = createServer((request, response) => {
    const title = request.url?.startsWith('/success') ? 'Thank you' : 'Another time'
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><html lang="en"><title>Shop</title><h1>${title}</h1>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  shared.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://localhost:${(server.address() as AddressInfo).port}` }
}
