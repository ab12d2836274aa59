import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { suiteCleanup } from '../suite-cleanup.ts'
import { accessibilityFaults } from './accessibility.ts'
import { samplePng } from './sample-files.ts'
import { collectTokens, findTokens } from './token-probe.ts'
import { consoleOf, goTo, openConsole, signIn } from './watched-page.ts'

const skip = await browserSkip()
const WIDTHS = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }

describe('one sign-in', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared)
  })

  test('survives a reload, in memory only', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')))
    const tokens = collectTokens(page)
    await signIn(page, 'user')

    await page.reload()

    await signedInAs(page, 'user')
    assert.deepEqual(await findTokens(page, await tokens(2)), [])
  })

  test('needs one policy for scripts, and the page refuses a second', async (t) => {
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(consoleOf(suite.urlOf('identity')))
    await page.getByText('Not signed in.').waitFor()

    assert.match(await page.evaluate(SECOND_POLICY), /already exists|disallowed/)
  })

  test('is shared by two tabs, which refresh once and log out together', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')))
    const other = await page.context().newPage()
    await other.goto(page.url())
    const refreshes: string[] = []
    page.context().on('request', (request) => {
      if (request.url().endsWith('/api/auth/refresh')) refreshes.push(request.url())
    })
    await signIn(page, 'user')
    await signedInAs(other, 'user')

    const { promise: bothAsked, resolve: letGo } = Promise.withResolvers<void>()
    await page.context().route('**/api/auth/refresh', async (route) => {
      await bothAsked
      await route.continue()
    })
    const refresh = { name: 'Refresh', exact: true }
    await Promise.all([
      page.getByRole('button', refresh).click(),
      other.getByRole('button', refresh).click(),
    ])
    assert.equal(await page.evaluate(LOCKS), 2)
    letGo()
    await until(
      () => page.evaluate(LOCKS),
      (locks) => locks === 0,
    )
    assert.equal(refreshes.length, 1)

    await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await other.getByText('Not signed in.').waitFor()
  })

  test('ends with the last tab', async (t) => {
    const context = await browser.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    await page.goto(consoleOf(suite.urlOf('identity')))
    await signIn(page, 'user')
    const targets = await browser.newBrowserCDPSession()
    const workers = async () =>
      (await targets.send('Target.getTargets')).targetInfos.filter(
        ({ type }) => type === 'shared_worker',
      ).length
    assert.equal(await workers(), 1)

    const next = await context.newPage()
    await page.close()
    await until(workers, (count) => count === 0)
    await next.goto(consoleOf(suite.urlOf('identity')))

    await next.getByText('Not signed in.').waitFor()
  })

  for (const [device, viewport] of Object.entries(WIDTHS))
    test(`at identity is offered by storage at the same address, on a ${device}`, async (t) => {
      const page = await openConsole(t, browser, consoleOf(`${suite.landingUrl}/identity`), {
        viewport,
      })
      await signIn(page, 'user')

      await page.goto(consoleOf(`${suite.landingUrl}/storage`))
      await page.getByRole('button', { name: 'Continue as user' }).waitFor()
      assert.deepEqual(await accessibilityFaults(page), [])
      await page.getByRole('button', { name: 'Continue as user' }).click()
      await page.getByLabel('Files to upload').setInputFiles([samplePng(`${device}.png`)])
      const file = page.locator('.file-grid li', { hasText: `${device}.png` })
      await file.waitFor()
      await page.reload()
      await file.waitFor()

      await goTo(page, 'profile')
      await page.getByText('Your account is one of Identity').waitFor()
      assert.deepEqual(await accessibilityFaults(page), [])

      await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
      await page.getByText('Not signed in.').waitFor()
      await page.goto(consoleOf(`${suite.landingUrl}/identity`))
      await page.getByText('Not signed in.').waitFor()
    })

  test('at a port says which accounts are taken, and where one sign-in works', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('storage-full')))

    await page.getByText('Accounts of Identity work here, too').waitFor()

    const home = page.getByRole('link', { name: 'all services' }).last()
    assert.equal(await home.getAttribute('href'), `${suite.landingUrl}/`)
  })
})

/** How many pages refresh, or wait for their turn. */
const LOCKS = `navigator.locks.query().then(({ held, pending }) =>
  [...held, ...pending].filter(({ name }) => name.startsWith('tokens ')).length)`

const SECOND_POLICY = `(() => {
  try {
    return String(trustedTypes.createPolicy('plinth-worker', {}))
  } catch (error) {
    return error.message
  }
})()`

async function signedInAs(page: Page, username: string): Promise<void> {
  await page.locator('.session-bar', { hasText: username }).waitFor()
}
