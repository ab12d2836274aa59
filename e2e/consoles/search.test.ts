import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults, listen } from './accessibility.ts'
import { WIDE } from './both-widths.ts'
import { addSearched } from './searched.ts'
import { consoleOf, goTo, letGoOn, openConsole, signIn } from './watched-page.ts'

const skip = await browserSkip()

describe('one search everywhere', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared)
    await addSearched(suite, 'user')
  })

  const open = async (t: TestContext, service: string, as?: 'user' | 'admin') => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf(service)), { viewport: WIDE })
    await page.locator('main h1').waitFor()
    if (as) await signIn(page, as)
    return page
  }
  /** Types it and waits for the entry, which is chosen with the keyboard. */
  const choose = async (page: Page, text: string, entry: RegExp) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type(text)
    await page.getByRole('dialog').getByRole('option', { name: entry }).waitFor()
    const chosen = page.getByRole('dialog').getByRole('option', { selected: true })
    for (let step = 0; step < 20; step += 1) {
      if (entry.test(await chosen.innerText())) break
      await page.keyboard.press('ArrowDown')
    }
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Search' }).waitFor({ state: 'hidden' })
  }

  test('finds users, keys, endpoints, operations and settings at identity', async (t) => {
    const page = await open(t, 'identity', 'admin')
    await goTo(page, 'keys')
    await page.getByLabel('Name').fill('billing server')
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByRole('cell', { name: 'billing server', exact: true }).waitFor()
    await goTo(page, 'events')
    const endpoint = `${suite.urlOf('identity')}/hooks-inbox`
    await page.getByLabel('Address').fill(endpoint)
    await page.getByRole('button', { name: 'Add an endpoint' }).click()
    await page.getByRole('cell', { name: endpoint, exact: true }).waitFor()

    const heard = await listen(page)
    await choose(page, 'ser@exam', /^user \(user@example\.com\)/)
    await page.getByRole('heading', { level: 2, name: 'user', exact: true }).waitFor()
    await heard('1 found')
    await choose(page, 'billing', /billing server/)
    await page.locator('main[data-page=keys]').waitFor()
    await page.getByText('1 key', { exact: true }).waitFor()
    await choose(page, 'hooks-in', /hooks-inbox/)
    await page.locator('main[data-page=events]').waitFor()
    await choose(page, 'second fac', /^Second factor and recovery/)
    await page.locator('main[data-page=security]').waitFor()
    await choose(page, 'appearance: dark', /dark/)
    assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('/api/users')
    await page.getByRole('option', { name: /GET \/api\/users\/me:/ }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.keyboard.press('Escape')
    await choose(page, 'own profile', /GET \/api\/users\/me: Your own profile/)
    await page.waitForURL(/\/reference\/#me$/)
  })

  test('finds files, payments and customers where they are', async (t) => {
    const files = await open(t, 'storage-full', 'user')
    await choose(files, '0777', /minutes-0777\.txt/)
    await files.getByRole('heading', { level: 1, name: 'minutes-0777.txt' }).waitFor()

    const payments = await open(t, 'payments')
    await choose(payments, 'order-07', /order-0777/)
    await payments.getByRole('heading', { level: 1 }).waitFor()
    await payments.locator('main[data-page^="payments/"]').waitFor()
    await choose(payments, 'buyer07', /buyer0777@example\.com/)
    await payments.locator('main[data-page=customers]').waitFor()
    await payments.getByText('1 customer shown').waitFor()
  })

  test('asks for nothing that the caller may not see', async (t) => {
    const page = await open(t, 'identity', 'user')
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))

    await page.keyboard.press('Control+k')
    await page.keyboard.type('example')
    await page.getByText(/^(No matches\.|\d+ found)$/).waitFor()

    assert.deepEqual(
      asked.filter((path) => path !== '/openapi.json'),
      [],
    )
  })

  test('waits for a pause in typing, and drops answers to an earlier text', async (t) => {
    const page = await open(t, 'identity', 'admin')
    const asked: string[] = []
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    await page.route('**/api/users?*', async (route) => {
      const text = new URL(route.request().url()).searchParams.get('contains') ?? ''
      asked.push(text)
      if (text === 'admin') await released
      await letGoOn(route)
    })

    await page.keyboard.press('Control+k')
    await page.keyboard.type('admin')
    await until(
      async () => asked,
      (texts) => texts.includes('admin'),
    )
    await page.getByRole('searchbox').fill('user@')
    await page.getByRole('option', { name: /user@example/ }).waitFor()
    release()

    await page.getByText('1 found', { exact: true }).waitFor()
    assert.equal(await page.getByRole('option').count(), 1)
    assert.deepEqual(asked, ['admin', 'user@'])
  })
})
