import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { collectTokens, findTokens } from './token-probe.ts'
import { consoleOf, goTo, openConsole, signIn } from './watched-page.ts'

const skip = await browserSkip()

const PASSWORD = 'password123123'

describe('tokens are kept only in the memory of the page', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared, { PAYMENTS_ACCESS: 'issuer' })
  })

  for (const service of ['identity', 'storage-full'])
    test(`by the console of ${service}: not in a worker, and a reload asks to sign in again`, async (t) => {
      const page = await openConsole(t, browser, consoleOf(suite.urlOf(service)))
      const tokens = collectTokens(page)
      await signIn(page, 'user')
      await page.getByRole('button', { name: 'Refresh now' }).click()
      await page.getByText('rotated once').waitFor()

      assert.deepEqual(await findTokens(page, await tokens(4)), [])
      assert.deepEqual(await workersOf(browser), [])
      await page.reload()

      await page.getByText('Not signed in.').waitFor()
      await page.getByRole('button', { name: 'Sign in as user' }).first().waitFor()
    })

  test('by the account page: not in a worker, and a reload asks to sign in again', async (t) => {
    const page = await openConsole(t, browser, `${suite.urlOf('identity')}/account/`)
    const tokens = collectTokens(page)
    await page.getByLabel('Username').fill('user')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('Signed in as user.').waitFor()

    assert.deepEqual(await findTokens(page, await tokens(2)), [])
    assert.deepEqual(await workersOf(browser), [])
    await page.reload()

    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  })

  test('by the API reference: not in a worker, and a reload asks to sign in again', async (t) => {
    const page = await openConsole(t, browser, `${suite.urlOf('identity')}/reference`)
    const tokens = collectTokens(page)
    await page.getByRole('button', { name: 'Sign in as user' }).click()
    await page.getByRole('heading', { name: 'Signed in' }).waitFor()

    assert.deepEqual(await findTokens(page, await tokens(2)), [])
    assert.deepEqual(await workersOf(browser), [])
    await page.reload()

    await page.getByRole('button', { name: 'Sign in as user' }).waitFor()
  })

  test('by the console of payments, which accepts a token of Identity', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('payments'), 'payments'))
    await page.getByText('Enter a token or a key first').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    const token = await accessToken('admin')

    await page.getByRole('link', { name: 'Use a token or a key' }).click()
    const origin = page.getByRole('link', { name: 'sign in at Identity' })
    assert.equal(await origin.getAttribute('href'), `${suite.urlOf('identity')}/api-test/#/session`)
    await page.getByLabel('Access token or service key').fill('of yesterday')
    await page.getByRole('button', { name: 'Use it' }).click()
    await page.getByText('It may have expired: use a fresh one.').waitFor()
    assert.equal(await page.locator('.notice.bad').count(), 1, 'said once')
    await page.getByLabel('Access token or service key').fill(token)
    await page.getByRole('button', { name: 'Use it' }).click()
    await page.getByText('The service accepts it.').waitFor()
    await page.getByText('There are no keys yet.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('link', { name: 'See the payments' }).click()
    await page.getByText('No payments').waitFor()

    assert.deepEqual(await findTokens(page, [token]), [])
    assert.deepEqual(await workersOf(browser), [])
    await page.reload()
    await page.getByText('Enter a token or a key first').waitFor()
  })

  test('so another tab and another console at the same address have to sign in, too', async (t) => {
    const page = await openConsole(t, browser, consoleOf(`${suite.landingUrl}/identity`))
    await signIn(page, 'user')

    const [tab, storage] = [await page.context().newPage(), await page.context().newPage()]
    await tab.goto(page.url())
    await storage.goto(consoleOf(`${suite.landingUrl}/storage`))

    await tab.getByText('Not signed in.').waitFor()
    await storage.getByText('Not signed in.').waitFor()
    await goTo(page, 'profile')
    await page.locator('.session-bar', { hasText: 'user' }).waitFor()
  })

  for (const [name, path] of [
    ['identity', '/identity/api-test/'],
    ['payments', '/payments/api-test/'],
    ['the account page', '/identity/account/'],
    ['the API reference', '/identity/reference/'],
  ] as const)
    test(`and opening ${name} unregisters the service worker of an earlier version, but no other`, async (t) => {
      const context = await browser.newContext()
      t.after(() => context.close())
      const page = await context.newPage()
      const [former, foreign] = [`${path}session-worker.js`, '/shop/worker.js']
      await context.route(
        ({ pathname }) => [former, foreign, '/shop/'].includes(pathname),
        (route) => route.fulfill(/\.js$/.test(route.request().url()) ? SCRIPT : BLANK),
      )
      await page.goto(`${suite.landingUrl}/shop/`)
      for (const script of [former, foreign])
        await page.evaluate(`navigator.serviceWorker.register('${script}').then(() => {})`)
      assert.equal((await registrationsOf(page)).length, 2)

      await page.goto(suite.landingUrl + path)

      const left = await until(
        () => registrationsOf(page),
        ({ length }) => length < 2,
      )
      assert.deepEqual(left, [`${suite.landingUrl}/shop/`])
    })

  async function accessToken(username: string): Promise<string> {
    const reply = await fetch(`${suite.urlOf('identity')}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password: PASSWORD }),
    })
    return ((await reply.json()) as { accessToken: string }).accessToken
  }
})

const SCRIPT = { contentType: 'text/javascript', body: 'addEventListener("message", () => {})' }
const BLANK = { contentType: 'text/html', body: '<!doctype html><title>A shop</title>' }

function registrationsOf(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    'navigator.serviceWorker.getRegistrations().then((all) => all.map(({ scope }) => scope))',
  )
}

/** The workers of every kind that run in the browser. */
async function workersOf(browser: Browser): Promise<string[]> {
  const session = await browser.newBrowserCDPSession()
  const { targetInfos } = await session.send('Target.getTargets')
  await session.detach()
  const workers = targetInfos.filter(({ type }) => /worker/.test(type))
  return workers.map(({ type, url }) => `${type} ${url}`)
}
