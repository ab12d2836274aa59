import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { identityClient } from '@plinth/client'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { freePorts } from '../../test/servers/free-ports.ts'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { openConsole } from './watched-page.ts'

const skip = await browserSkip()

const TOKEN = 'a-token-for-the-listener'

const LOOKS: Record<string, BrowserContextOptions> = {
  'light and wide': { colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  'dark and narrow': { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
}

type Widths = { scrollWidth: number; clientWidth: number }
const WIDTHS =
  '(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }))(document.documentElement)'

describe('the Health page', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let landing: string
  let management: string
  let identityUrl: string

  before(async () => {
    browser = await openBrowser(shared)
    const [port] = await freePorts(1)
    management = `http://127.0.0.1:${port}`
    const settings = { SUITE_MANAGEMENT_PORT: String(port), METRICS_TOKEN: TOKEN }
    const { landingUrl, urlOf } = await startSuite(shared, settings)
    landing = landingUrl
    identityUrl = urlOf('identity')
  })

  for (const [look, options] of Object.entries(LOOKS))
    test(`draws rates, times, failures, queues and disk: ${look}`, async (t) => {
      const page = await openConsole(t, browser, `${landing}/health/index.html`, options)
      const identity = page.locator('[data-service="identity"]')
      const drawn = (name: RegExp) => identity.getByRole('img', { name })
      const rate = drawn(
        /^Requests per second, last hour: requests [\d.]*[1-9][\d.]*, highest [\d.]*[1-9]/,
      )

      // A request is part of the current rate for only ten seconds, which a slow page may miss.
      const request = async () => {
        await assert.rejects(identityClient(identityUrl).account.get(), { status: 401 })
        return rate.isVisible()
      }
      await until(request, (isDrawn) => isDrawn, 2000)
      await drawn(/^Time per request, last hour: p99 [\d.]+ ms, p50 [\d.]+ ms/).waitFor()
      await drawn(/^Failures per second/).waitFor()
      await page.getByRole('img', { name: /^Password hashes waiting/ }).waitFor()
      await page.getByRole('img', { name: /^Free for .*identity: data/ }).waitFor()
      const { scrollWidth, clientWidth } = await page.evaluate<Widths>(WIDTHS)
      assert.equal(scrollWidth, clientWidth)
      assert.deepEqual(await accessibilityFaults(page), [])
    })

  test('is one click from the landing page', async (t) => {
    const page = await openConsole(t, browser, landing)

    await page.getByRole('link', { name: 'Health' }).click()

    await page.getByRole('heading', { name: 'Health' }).waitFor()
  })

  test('is where the address of the listener leads, and asks for the token if it has one', async (t) => {
    const page = await openConsole(t, browser, `${management}/`)

    await page.getByLabel('Token', { exact: true }).last().fill('another-token-of-this-length')
    await page.getByRole('button', { name: 'Show the figures' }).click()
    await page.getByText('This is not the token of the listener.').waitFor()
    await page.getByLabel('Token', { exact: true }).last().fill(TOKEN)
    await page.getByRole('button', { name: 'Show the figures' }).click()

    await page
      .getByRole('img', { name: /^Requests per second/ })
      .first()
      .waitFor()
    assert.equal((await fetch(`${management}/api/history`)).status, 401)
  })
})
