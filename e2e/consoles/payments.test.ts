import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults, listen } from './accessibility.ts'
import { WIDE } from './both-widths.ts'
import { findTokens } from './token-probe.ts'
import { consoleOf, goTo, openConsole } from './watched-page.ts'

const skip = await browserSkip()
const SERVICES = ['payments', 'provider-sandbox']
/** The prefixes of secrets that only the server may know. */
const PROVIDER_SECRETS = ['sk_test_', 'whsec_']

describe('the payments console', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let address: string
  let sandbox: string

  before(async () => {
    browser = await openBrowser(shared)
    const suite = await startSuite(shared, {}, SERVICES)
    address = consoleOf(suite.urlOf('payments'))
    sandbox = suite.urlOf('provider-sandbox')
  })

  /** Creates a checkout with the form and returns the session id of its hosted page. */
  async function createCheckout(page: Page, reference?: string): Promise<string> {
    await goTo(page, 'checkout')
    if (reference) await page.getByLabel('Business reference').fill(reference)
    await page.getByRole('button', { name: 'Create the checkout' }).click()
    const link = page.getByRole('link', { name: 'Open the hosted page' })
    return new URL((await link.getAttribute('href')) ?? '').pathname.split('/').pop() ?? ''
  }

  async function control(path: string, body: object = {}): Promise<void> {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${sandbox}/sandbox/api${path}`, {
      ...{ method: 'POST', headers, body: JSON.stringify(body) },
    })
    assert.ok(reply.ok, `${path}: ${reply.status} ${await reply.text()}`)
  }

  test('takes and shows amounts with the decimals of their currency, aligned in a column', async (t) => {
    const page = await openConsole(t, browser, address)
    await goTo(page, 'checkout')
    await page.getByLabel('Currency').fill('jpy')
    await page.getByText('Enter an amount such as 4900.').waitFor()
    await page.getByLabel('Amount', { exact: true }).fill('4900')
    await page.getByLabel('Business reference').fill('order-in-yen')
    await page.getByRole('button', { name: 'Create the checkout' }).click()
    await page.getByRole('link', { name: 'Watch the payment' }).waitFor()

    await goTo(page, 'payments')
    const amount = page.getByRole('row', { name: 'order-in-yen' }).locator('td.number').first()
    assert.equal(await amount.innerText(), 'JP¥4,900')
    await page.setViewportSize(WIDE)
    const alignment = await amount.evaluate(
      // biome-ignore lint/suspicious/noExplicitAny: runs in the page, whose types Node does not know.
      (cell: any) => cell.ownerDocument.defaultView.getComputedStyle(cell).textAlign,
    )
    assert.equal(alignment, 'right')
  })

  test('shows what was searched for last, however late an earlier reply comes', async (t) => {
    const page = await openConsole(t, browser, address)
    const [first, second] = ['searched-first', 'searched-second']
    for (const reference of [first, second]) {
      await createCheckout(page, reference)
      await goTo(page, '')
    }
    const late = Promise.withResolvers<void>()
    await page.route(`**/api/payments?*${first}`, async (route) => {
      const response = await route.fetch()
      await late.promise
      await route.fulfill({ response })
    })
    await goTo(page, 'payments')
    const find = async (reference: string) => {
      await page.getByLabel('Business reference').fill(reference)
      await page.getByRole('button', { name: 'Find' }).click()
    }

    await find(first)
    await find(second)
    await page.locator('tbody').getByRole('link', { name: second }).waitFor()
    const arrived = page.waitForResponse(`**/api/payments?*${first}`)
    late.resolve()
    await (await arrived).finished()
    await page.evaluate('new Promise(requestAnimationFrame)')

    assert.deepEqual(await page.locator('tbody a').allInnerTexts(), [second])
  })

  test('folds repeated observations of the provider into one line', async (t) => {
    const page = await openConsole(t, browser, address)
    await createCheckout(page)
    await page.getByRole('link', { name: 'Watch the payment' }).click()
    const line = page.locator('.timeline li', { hasText: 'Session looked up' })

    await page.getByRole('button', { name: 'Check now' }).click()
    await line.waitFor()
    await page.getByRole('button', { name: 'Check now' }).click()
    await line.getByText('Repeated once').waitFor()
    await page.getByRole('button', { name: 'Check now' }).click()

    await line.getByText('Repeated 2 times').click()
    assert.equal(await line.count(), 1)
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('shows the signed deliveries in the inbox and no provider secret anywhere', async (t) => {
    const page = await openConsole(t, browser, address)
    const session = await createCheckout(page)
    await control(`/sessions/${session}/pay`)
    await control('/deliveries/flush')

    await goTo(page, 'webhooks')

    await page.getByText('checkout.session.completed').first().waitFor()
    await page.getByText('processed', { exact: true }).first().waitFor()
    await page.getByRole('link', { name: 'checkout.session.completed' }).first().click()
    const payload = page.getByLabel('Payload of the event')
    await payload.getByRole('button', { name: /^Show all \d+ lines$/ }).click()
    await payload.getByText('"checkout.session.completed"').waitFor()
    await page.getByRole('button', { name: 'Process it again' }).click()
    await page.getByText('It was processed before, so nothing changed.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    assert.deepEqual(await findTokens(page, PROVIDER_SECRETS), [])
  })

  test('starts a new attempt after a checkout expired', async (t) => {
    const page = await openConsole(t, browser, address)
    const session = await createCheckout(page)
    await page.getByRole('link', { name: 'Watch the payment' }).click()
    await page.getByRole('link', { name: 'Open the hosted page' }).waitFor()

    await control(`/sessions/${session}/expire`)
    await page.getByText('checkout EXPIRED').first().waitFor()
    await page.getByRole('button', { name: 'Start a new attempt' }).click()

    await page.getByRole('status').getByText('checkout OPEN').waitFor()
  })

  test('creates and finds a customer, and lists every error of an invalid one', async (t) => {
    const page = await openConsole(t, browser, address)
    await goTo(page, 'customers')
    const heard = await listen(page)

    await page.getByRole('button', { name: 'Create' }).click()
    await page.locator('.field .fault').waitFor()
    await page.getByLabel('E-mail', { exact: true }).fill('ada@example.com')
    await page.getByRole('button', { name: 'Create' }).click()
    const id = await page.locator('.notice.good code').innerText()
    await heard(id)
    const rows = page.getByRole('table', { name: 'Customers' }).locator('tbody tr')
    await rows.filter({ hasText: 'ada@example.com' }).waitFor()
    const sought = page.getByLabel('E-mail or customer id')
    for (const [text, count] of [
      ['nobody@example.com', 0],
      ['ada@example.com', 1],
      ['cus_unknown', 0],
      [id, 1],
    ] as const) {
      await sought.fill(text)
      await page.getByRole('button', { name: 'Find' }).click()
      if (count === 0) await page.getByText('No customer matches').waitFor()
      else await rows.filter({ hasText: 'ada@example.com' }).waitFor()
    }
    assert.deepEqual(await accessibilityFaults(page), [])
    await rows.getByRole('link', { name: 'New checkout' }).click()
    await page.getByRole('button', { name: 'Create the checkout' }).click()
    await page.getByRole('link', { name: 'Watch the payment' }).click()
    await page.getByText('All fields').click()
    await page.locator(`[title="${id}"]`).waitFor()
  })

  test('links to the page of its sandbox provider', async (t) => {
    const page = await openConsole(t, browser, address)

    const link = page.getByRole('link', { name: 'Open the sandbox' })
    assert.equal(await link.getAttribute('href'), `${sandbox}/sandbox/`)
    const opening = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'SANDBOX provider' }).click()

    const opened = await opening
    await opened.getByRole('heading', { name: 'Sandbox payment provider' }).waitFor()
  })

  test('asks for a service key if the service needs one, and creates a checkout with it', async (t) => {
    const settings = { PAYMENTS_ACCESS: 'keys', SUITE_DATA: await mkdtemp(join(tmpdir(), 'keys-')) }
    t.after(() => rm(settings.SUITE_DATA, { recursive: true, force: true }))
    const suite = await startSuite(t, settings, SERVICES)
    const main = join(import.meta.dirname, '../../cli/main.js')
    const scopes = ['payments:read', 'payments:write', 'keys:write'].flatMap((scope) => [
      '--scope',
      scope,
    ])
    const words = ['keys', 'create', 'console', ...scopes, '--service', 'payments']
    const { stdout } = await promisify(execFile)(process.execPath, [main, ...words], {
      env: settings,
    })
    const [key = ''] = stdout.split('\n')
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('payments')))
    await goTo(page, 'payments')

    await page.getByRole('link', { name: 'Enter a key' }).click()
    for (const text of ['of yesterday', key]) {
      const listed = page.waitForResponse((reply) => reply.url().endsWith('/api/service-keys'))
      await page.getByLabel('Service key').fill(text)
      await page.getByRole('button', { name: 'Use it' }).click()
      await listed
    }
    await page.getByText('The service accepts it.').waitFor()
    assert.deepEqual(await findTokens(page, [key]), [])
    await page.getByLabel('Name').fill('till')
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByText('it is not shown again').waitFor()
    await page.getByRole('button', { name: 'Revoke till' }).click()
    await page.getByRole('alert').getByRole('button', { name: 'Revoke till' }).click()
    await page.getByText('revoked', { exact: true }).waitFor()

    assert.match(await createCheckout(page), /^cs_/)
  })

  test('says what is missing when no provider is configured', async (t) => {
    const blank = { PROVIDER_SECRET_KEY: '', PROVIDER_WEBHOOK_SECRET: '' }
    const suite = await startSuite(t, blank, SERVICES)
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('payments')))

    await page.getByText('Customers, checkout and refunds are refused').waitFor()
    await goTo(page, 'checkout')
    assert.equal(await page.getByLabel('Description').inputValue(), '', 'no example')
    await page.getByRole('button', { name: 'Create the checkout' }).click()
    await page.getByText('Enter an amount such as 49.00.').waitFor()
    await page.getByLabel('Amount', { exact: true }).fill('10')
    await page.getByLabel('Description').fill('One chair')
    await page.getByRole('button', { name: 'Create the checkout' }).click()

    await page.getByRole('alert').filter({ hasText: 'is not configured' }).waitFor()
    assert.equal(await page.getByText('SANDBOX', { exact: true }).count(), 0)
  })
})
