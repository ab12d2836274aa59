import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { WIDE } from './both-widths.ts'
import { addSearched } from './searched.ts'
import { consoleOf, openConsole, sandboxPageOf, signIn } from './watched-page.ts'

const skip = await browserSkip()

describe('the search of the landing page', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared)
    await addSearched(suite, 'admin')
  })

  const openLanding = async (t: TestContext) => {
    const page = await openConsole(t, browser, suite.landingUrl, { viewport: WIDE })
    await page.getByRole('heading', { name: 'Everything is running.' }).waitFor()
    return page
  }
  const signInHere = async (page: Page) => {
    await page.getByRole('button', { name: /^Show today/ }).click()
    await page.getByRole('button', { name: 'Sign in as admin' }).click()
    await page.getByRole('heading', { name: 'Today' }).waitFor()
  }
  const dialogOf = (page: Page) => page.getByRole('dialog', { name: 'Search' })
  /** Types it, waits for the entry, and walks to it with the keyboard. */
  const choose = async (page: Page, text: string, entry: RegExp) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type(text)
    await dialogOf(page).getByRole('option', { name: entry }).waitFor()
    const chosen = dialogOf(page).getByRole('option', { selected: true })
    for (let step = 0; step < 20; step += 1) {
      if (entry.test(await chosen.innerText())) break
      await page.keyboard.press('ArrowDown')
    }
    await page.keyboard.press('Enter')
  }

  test('opens a page of any console with the keyboard', async (t) => {
    const page = await openLanding(t)
    await page.keyboard.press('Control+k')
    await dialogOf(page).getByRole('option', { name: 'Payments: New checkout' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.keyboard.press('Escape')
    await dialogOf(page).waitFor({ state: 'hidden' })

    await choose(page, 'webhook in', /Payments: Webhook inbox/)

    await page.locator('main[data-page=webhooks]').waitFor()
  })

  test('finds pages and operations without a sign-in, and asks for nothing else', async (t) => {
    const page = await openLanding(t)
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))

    await page.getByRole('button', { name: 'Search' }).click()
    await page.keyboard.type('users')
    await dialogOf(page)
      .getByRole('option', { name: /GET \/api\/users\/me.*operation of Identity/ })
      .waitFor()
    assert.equal(await page.getByRole('option', { name: 'Identity: Users' }).count(), 0)
    await page.keyboard.press('Escape')
    await choose(page, 'own profile', /operation of Identity/)
    await page.waitForURL(/\/reference\/#me$/)

    const lists = asked.filter((path) => /\/(api|file)\//.test(path))
    assert.deepEqual(
      lists.filter((path) => path !== '/api/services'),
      [],
    )
  })

  test('finds users, files, payments and customers for an administrator', async (t) => {
    const page = await openLanding(t)
    await signInHere(page)

    await page.keyboard.press('Control+k')
    await page.keyboard.type('0777')
    for (const entry of [
      /minutes-0777\.txt.*file of Storage/,
      /order-0777.*payment of Payments/,
      /buyer0777@example\.com.*customer of Payments/,
    ])
      await dialogOf(page).getByRole('option', { name: entry }).waitFor()
    await page.keyboard.press('Escape')
    await choose(page, 'ser@exam', /^user \(user@example\.com\)/)

    await page.locator('main[data-page^="users/"]').waitFor()
    assert.match(page.url(), /#\/users\/\d+$/)
  })

  test('Enter in it submits no sign-in behind it', async (t) => {
    const page = await openLanding(t)
    await page.getByRole('button', { name: /^Show today/ }).click()
    await page.getByLabel('Username').focus()
    const signIns: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/api/auth/login')) signIns.push(request.url())
    })

    await choose(page, 'appearance: dark', /dark/)
    await dialogOf(page).waitFor({ state: 'hidden' })
    assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
    assert.equal(await page.evaluate('document.activeElement.name'), 'username')

    assert.deepEqual(signIns, [])
  })

  test('is loaded slowly without losing what is typed meanwhile', async (t) => {
    const page = await openLanding(t)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    await page.route('**/entries-*.js', async (route) => {
      await released
      await route.continue()
    })

    await page.keyboard.press('Control+k')
    await page.keyboard.type('own profile')
    await page.getByText('Searching …').waitFor()
    release()

    await page.getByRole('option', { name: /Your own profile.*operation of Identity/ }).waitFor()
  })

  test('lists the pages and settings that the consoles have', async (t) => {
    const page = await openLanding(t)
    await signInHere(page)
    await page.keyboard.press('Control+k')
    await page.getByRole('option', { name: 'Identity: Users' }).waitFor()
    const listed = await page.getByRole('option').allInnerTexts()

    for (const [service, title, address, signsIn] of CONSOLES) {
      const other = await openConsole(t, browser, address(suite.urlOf(service)), { viewport: WIDE })
      await other.locator('main h1').waitFor()
      if (signsIn) await signIn(other, 'admin')
      await other.keyboard.press('Control+k')
      await other.getByRole('option').first().waitFor()
      const own = await other.getByRole('option').allInnerTexts()
      const pages = own
        .filter((text) => text.startsWith('Go to '))
        .map((text) => text.replace('Go to ', `${title}: `).replace(/: Session$/, ': Sign in'))
      const settings = own
        .filter((text) => text.endsWith('\nsetting') && !text.startsWith('Appearance'))
        .map((text) => `${text} of ${title}`)
      const expected = [...pages, ...settings]

      const here = listed.filter(
        (text) =>
          (text.startsWith(`${title}: `) && !BESIDE.test(text)) ||
          text.endsWith(`setting of ${title}`),
      )

      assert.deepEqual(here.sort(), expected.sort(), title)
    }
  })
})

/** Pages that are not of the console. */
const BESIDE = /: (API reference|Your account|Inbox for development)$/

const CONSOLES = [
  ['identity', 'Identity', consoleOf, true],
  ['storage-full', 'Storage, full edition', consoleOf, true],
  ['storage-key', 'Storage, key-protected edition', consoleOf, false],
  ['payments', 'Payments', consoleOf, false],
  ['provider-sandbox', 'Sandbox provider', sandboxPageOf, false],
] as const
