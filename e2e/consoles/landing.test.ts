import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { openConsole } from './watched-page.ts'

const skip = await browserSkip()

describe('the landing page', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let address: string

  before(async () => {
    browser = await openBrowser(shared)
    address = (await startSuite(shared)).landingUrl
  })

  test('leads to a console, and the console leads back', async (t) => {
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(address)

    await page.getByRole('link', { name: 'Open Identity' }).click()
    await page.getByRole('heading', { name: 'Accounts, tokens and passkeys' }).waitFor()
    await page.getByRole('button', { name: 'Services' }).click()
    await page.getByRole('link', { name: 'All services' }).click()

    await page.getByRole('heading', { name: 'Everything is running.' }).waitFor()
  })

  test('offers three things to try first, and every link answers', async (t) => {
    const page = await openConsole(t, browser, address)
    await page.getByRole('link', { name: 'Open Sandbox provider' }).waitFor()

    const links = await page
      .locator('main a')
      .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))

    assert.equal(await page.locator('.first-things li').count(), 3)
    for (const link of links) assert.equal((await fetch(link)).status, 200, link)
  })
})
