import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { identityClient } from '@plinth/client'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { openConsole } from './watched-page.ts'

const skip = await browserSkip()

const LOOKS: Record<string, BrowserContextOptions> = {
  'light and wide': { colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  'dark and narrow': { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
}

type Widths = { scrollWidth: number; clientWidth: number }
const WIDTHS =
  '(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }))(document.documentElement)'

describe('the home of administrators', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let landing: string
  let urlOf: (service: string) => string

  before(async () => {
    browser = await openBrowser(shared)
    const suite = await startSuite(shared)
    landing = suite.landingUrl
    urlOf = suite.urlOf
  })

  for (const [look, options] of Object.entries(LOOKS))
    test(`shows today's figures, the checklist and the last requests: ${look}`, async (t) => {
      const page = await openConsole(t, browser, landing, options)
      await page.getByRole('button', { name: /^Show today/ }).click()
      assert.deepEqual(await accessibilityFaults(page), [])
      await page.getByRole('button', { name: 'Sign in as admin' }).click()

      await page.getByRole('heading', { name: 'Today' }).waitFor()
      await page.getByRole('img', { name: /^Sign-ins: [1-9]\d* sign-ins?;/ }).waitFor()
      await page.getByRole('img', { name: /^Stored: / }).waitFor()
      await page.getByText('Identity: healthy').waitFor()
      const log = page.getByRole('table', { name: 'Last requests' })
      await log.getByText('/api/auth/login').first().waitFor()
      assert.deepEqual(await accessibilityFaults(page), [])
      const { scrollWidth, clientWidth } = await page.evaluate<Widths>(WIDTHS)
      assert.equal(scrollWidth, clientWidth)
    })

  test('the checklist ticks a step off by itself, and figures move', async (t) => {
    const page = await openConsole(t, browser, landing)
    await page.getByRole('button', { name: /^Show today/ }).click()
    await page.getByRole('button', { name: 'Sign in as admin' }).click()
    const step = page.locator('.checklist li', { hasText: 'Have events sent' })
    await step.getByText('(not done yet)').waitFor()

    const identity = identityClient(urlOf('identity'))
    await identity.logIn('admin', 'password123123')
    await identity.endpoints.create({ url: 'http://localhost:3000/webhooks' })

    await step.getByText('(done)').waitFor()
  })

  test('a user without the role is told so, and sees nothing', async (t) => {
    const page = await openConsole(t, browser, landing)
    await page.getByRole('button', { name: /^Show today/ }).click()
    await page.getByLabel('Username').fill('user')
    await page.getByLabel('Password', { exact: true }).fill('password123123')

    await page.getByRole('button', { name: 'Sign in', exact: true }).click()

    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Today' }).count(), 0)
  })

  test('nothing is reachable only by knowing its address', async (t) => {
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(landing)
    const card = page.locator('article[data-service="identity"]')

    for (const name of [/^API reference/, /^Your account/, /^Inbox for development/])
      await card.getByRole('link', { name }).waitFor()
    await card.getByRole('link', { name: /^Your account/ }).click()
    await page.getByRole('heading', { level: 1 }).waitFor()

    assert.match(page.url(), /\/account\/$/)
  })
})
