import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import { paymentsClient } from '@plinth/client'
import type { Browser, Locator, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite, takePayment } from '../stack.ts'
import { WIDE } from './both-widths.ts'
import { consoleOf, goTo, openConsole, sandboxPageOf, signIn } from './watched-page.ts'

const skip = await browserSkip()

/** From now on, what a form of the page would have sent is counted. */
const COUNT_SUBMITS = `
  window.submits = [];
  addEventListener('submit', ({ target }) => window.submits.push(target.ariaLabel), true)
`
const ONE_LINE = 'input:not([type=checkbox], [type=radio], [type=file]):visible'
const PATHS = `[...document.querySelectorAll('nav.pages a[href^="#/"]')].map((link) => link.hash.slice(2))`

type Walk = {
  service: string
  as?: 'user' | 'admin'
  /** Pages that no list of pages has. */
  more?: () => Promise<string[]>
  /** Forms that must be among those found. */
  forms: string[]
}

describe('Enter in the search of a console', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared)
  })

  const paymentPage = async () => {
    await takePayment(suite.urlOf)
    const { content } = await paymentsClient(suite.urlOf('payments')).payments.list()
    return content.map(({ id }) => `payments/${id}`)
  }
  const walks: Walk[] = [
    { service: 'identity', forms: ['Sign in', 'Register'] },
    {
      service: 'identity',
      as: 'admin',
      forms: ['Make a key', 'Change the password', 'New client', 'Add an endpoint'],
    },
    { service: 'storage-full', as: 'admin', forms: ['LOCAL settings', 'Limits', 'Make a key'] },
    { service: 'storage-key', forms: ['API key'] },
    { service: 'payments', more: paymentPage, forms: ['New checkout', 'New customer', 'Refund'] },
    { service: 'provider-sandbox', forms: ['All switches', 'New fault'] },
  ]

  for (const { service, as, more, forms } of walks)
    test(`submits no form of ${service}${as ? ` for an ${as}` : ''}`, async (t) => {
      const page = await open(t, service)
      if (as) await signIn(page, as)
      const written = writesOf(page)
      const listed = await page.evaluate<string[]>(PATHS)

      const found: string[] = []
      for (const path of [...listed, ...((await more?.()) ?? [])])
        found.push(...(await searchFromEach(page, path)))

      assert.deepEqual(
        forms.filter((form) => !found.includes(form)),
        [],
        found.join(', '),
      )
      assert.deepEqual(await page.evaluate('window.submits'), [])
      assert.deepEqual(written, [])
    })

  async function open(t: TestContext, service: string): Promise<Page> {
    const url = suite.urlOf(service)
    const address = service === 'provider-sandbox' ? sandboxPageOf(url) : consoleOf(url)
    const page = await openConsole(t, browser, address, { viewport: WIDE })
    await page.evaluate(COUNT_SUBMITS)
    await page.locator('main h1').waitFor()
    return page
  }
})

/** Opens the search from every form of a page that has a field, and returns their names. */
async function searchFromEach(page: Page, path: string): Promise<string[]> {
  await goTo(page, path)
  await until(
    () => page.locator('main .skeleton').count(),
    (count) => count === 0,
  )
  const found: string[] = []
  for (const form of await page.locator('main form').all())
    if (await searchFrom(page, form)) found.push((await form.getAttribute('aria-label')) ?? '')
  return found
}

/**
 * Opens the search from the first field of a form; false if it has none. Enter is pressed twice: without a match, which
 * keeps the search open, and with one that calls nothing.
 */
async function searchFrom(page: Page, form: Locator): Promise<boolean> {
  const field = form.locator(ONE_LINE).first()
  if ((await field.count()) === 0) return false
  const dialog = page.getByRole('dialog', { name: 'Search' })
  await field.focus()
  await page.keyboard.press('Control+k')
  await dialog.waitFor()
  await page.keyboard.type('appearance: neither')
  await page.keyboard.press('Enter')
  await page.getByRole('searchbox', { name: 'Search this console' }).fill('appearance: light')
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'hidden' })
  await form.locator(':focus').waitFor()
  return true
}

/** Every request that may change something. */
function writesOf(page: Page): string[] {
  const written: string[] = []
  page.on('request', (request) => {
    const isRenewal = /\/(oauth|api\/auth\/refresh)/.test(request.url())
    if (request.method() !== 'GET' && !isRenewal) written.push(request.url())
  })
  return written
}
