import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { identityClient, storageClient } from '@plinth/client'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { authenticatorCode } from './authenticator-code.ts'
import { PHONE, WIDE } from './both-widths.ts'
import { samplePng } from './sample-files.ts'
import { consoleOf, goTo, openConsole, sandboxPageOf, signIn } from './watched-page.ts'

const skip = await browserSkip()

const PASSWORD = 'password123123'
const LAPTOP = { width: 1280, height: 720 }

describe('where the pages were rough', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared)
  })

  for (const username of ['user', 'admin'] as const)
    for (const service of ['identity', 'storage-full'])
      test(`every page of ${service}, seen by ${username}, leaves the browser nothing to report`, async (t) => {
        const page = await openConsole(t, browser, consoleOf(suite.urlOf(service)), {
          viewport: LAPTOP,
        })
        const reported = reportsOf(page)
        await signIn(page, username)

        const paths = await page.evaluate<string[]>(PATHS)
        for (const path of paths) {
          await goTo(page, path)
          await until(
            () => page.locator('.skeleton').count(),
            (count) => count === 0,
          )
          if (username === 'user' || path !== 'users') continue
          await page.getByRole('button', { name: 'Manage user', exact: true }).click()
          await page.getByText('Not signed in anywhere.').or(page.getByText('Last used')).waitFor()
        }

        assert.ok(paths.includes('users') && paths.includes('audit'))
        assert.deepEqual(reported, [])
      })

  test('a list that is sorted while its user leaves does not bring them back', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('storage-full')), {
      viewport: LAPTOP,
    })
    await signIn(page, 'admin')
    await goTo(page, 'users')
    await page.locator('th button').first().waitFor()

    await page.evaluate(`location.hash = '#/owners'; document.querySelector('th button').click()`)

    await page.locator('main[data-page="owners"]').waitFor()
  })

  for (const [service, address] of [
    ['storage-key', consoleOf],
    ['payments', consoleOf],
    ['provider-sandbox', sandboxPageOf],
  ] as const)
    test(`every page of ${service}, and a search, leave the browser nothing to report`, async (t) => {
      const page = await openConsole(t, browser, address(suite.urlOf(service)), {
        viewport: LAPTOP,
      })
      const reported = reportsOf(page)
      await page.locator('main h1').waitFor()

      const paths = await page.evaluate<string[]>(PATHS)
      for (const path of paths) {
        await goTo(page, path)
        await until(
          () => page.locator('.skeleton').count(),
          (count) => count === 0,
        )
      }
      await page.keyboard.press('Control+k')
      await page.keyboard.type('key')
      await page.getByText(/^(No matches\.|\d+ found)$/).waitFor()

      assert.ok(paths.length > 1)
      assert.deepEqual(reported, [])
    })

  test('a shared picture leaves the browser nothing to report', async (t) => {
    const storage = storageClient(suite.urlOf('storage-full'))
    await storage.logIn('user', PASSWORD)
    const { name, mimeType, buffer } = samplePng('shared.png')
    const file = await storage.files.upload(
      new Blob([new Uint8Array(buffer)], { type: mimeType }),
      name,
    )
    const { url } = await storage.links.create(file.id, 60)
    const page = await openConsole(t, browser, suite.urlOf('storage-full'), { viewport: LAPTOP })
    const reported = reportsOf(page)

    await page.goto(url)
    await page.locator('img').waitFor()

    assert.deepEqual(reported, [])
  })

  test('a link that was revoked tells its recipient what to do', async (t) => {
    const storage = storageClient(suite.urlOf('storage-full'))
    await storage.logIn('user', PASSWORD)
    const { name, mimeType, buffer } = samplePng('revoked.png')
    const file = await storage.files.upload(
      new Blob([new Uint8Array(buffer)], { type: mimeType }),
      name,
    )
    const { url } = await storage.links.create(file.id, 60)
    const [link] = await storage.links.list(file.id)
    await storage.links.revoke(file.id, link?.id ?? 0)

    const page = await openConsole(t, browser, url, { viewport: LAPTOP })

    await page.getByRole('heading', { name: 'This link no longer works' }).waitFor()
    await page.getByText('Ask the person who sent it for a new one.').waitFor()
    assert.equal(await page.evaluate('getComputedStyle(document.body).maxWidth'), '480px')
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('the appearance is remembered over a reload, and on the next page', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')), {
      viewport: LAPTOP,
      colorScheme: 'light',
    })
    const look = () => page.evaluate('document.documentElement.dataset.theme')

    await page.getByRole('button', { name: 'Appearance: same as the system' }).click()
    await page.getByRole('button', { name: 'Appearance: dark' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Appearance: dark' }).waitFor()
    assert.equal(await look(), 'dark')
    await page.goto(`${suite.urlOf('identity')}/reference/`)
    await page.getByRole('button', { name: 'Appearance: dark' }).click()
    await page.getByRole('button', { name: 'Appearance: light' }).click()
    await page.reload()

    await page.getByRole('button', { name: 'Appearance: same as the system' }).waitFor()
    assert.equal(await look(), undefined)
  })

  test('the search shows what an entry is below its title on a phone', async (t) => {
    const page = await openConsole(t, browser, suite.landingUrl, { viewport: PHONE })
    await page.getByRole('button', { name: 'Search' }).click()
    await page.keyboard.type('own profile')
    const entry = page.getByRole('option', { name: /operation of Identity/ })
    await entry.waitFor()

    const [title, kind] = await Promise.all(
      [0, 1].map((part) => entry.locator('span').nth(part).boundingBox()),
    )

    assert.ok(title && kind && kind.y >= title.y + title.height, JSON.stringify([title, kind]))
    assert.ok(title.width > 300, String(title.width))
  })

  test('a list beside the requests shows addresses and dates whole', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')), {
      viewport: WIDE,
    })
    await signIn(page, 'admin')
    await goTo(page, 'users')
    await page.getByRole('cell', { name: 'admin@example.com' }).waitFor()

    assert.equal(await page.evaluate(HIDDEN_WIDTH), 0)
    const payments = consoleOf(suite.urlOf('payments'), 'payments')
    const other = await openConsole(t, browser, payments, { viewport: WIDE, locale: 'en-US' })
    await other.getByLabel('Created from').waitFor()
    assert.ok((await other.evaluate<number>(MISSING_WIDTH)) <= 0)
  })

  test('after a registration the page shows that it has signed in', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity'), 'session'), {
      viewport: LAPTOP,
    })
    const form = page.getByRole('form', { name: 'Register' })
    await form.getByLabel('Username').fill('grace')
    await form.getByLabel('E-mail').fill('grace@example.com')
    await form.getByLabel('Password').fill(PASSWORD)

    await form.getByRole('button', { name: 'Create account' }).click()

    const notice = page.locator('main .notice', { hasText: 'Signed in as' })
    await notice.waitFor()
    await until(
      () => page.evaluate(IN_VIEW),
      (isInView) => isInView === true,
    )
  })

  test('the health page leads back to the landing page', async (t) => {
    const page = await openConsole(t, browser, suite.landingUrl, { viewport: LAPTOP })
    await page.getByRole('link', { name: 'Health', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Health' }).waitFor()

    await page.getByRole('link', { name: 'Plinth' }).click()

    await page.getByRole('heading', { name: 'Everything is running.' }).waitFor()
  })

  for (const [name, path] of [
    ['the console', '/api-test/index.html#/session'],
    ['the account page', '/account/'],
  ] as const)
    test(`after the password, ${name} has the focus in the field for the code, and shows it`, async (t) => {
      const username = `second-${path.length}`
      const identity = identityClient(suite.urlOf('identity'))
      await identity.register({ username, email: `${username}@example.com`, password: PASSWORD })
      await identity.logIn(username, PASSWORD)
      const { secret } = await identity.secondFactor.enrol()
      await identity.secondFactor.confirm(authenticatorCode(secret))
      const page = await openConsole(t, browser, suite.urlOf('identity') + path, {
        viewport: LAPTOP,
      })
      const form = page.getByRole('form', { name: 'Sign in' })
      await form.getByLabel('Username').fill(username)
      await form.getByLabel('Password').fill(PASSWORD)
      await form.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.locator('input[name=code]').waitFor()

      const focused = await page.evaluate<object>(FOCUSED)

      assert.deepEqual(focused, { name: 'code', outline: 'solid' })
    })
})

/** Whether the first notice is below the bar at the top of the page. */
const IN_VIEW = `(({ top, bottom }) => top >= 50 && bottom <= innerHeight)(
  document.querySelector('main .notice').getBoundingClientRect())`

/** How much of an address is cut off. */
const HIDDEN_WIDTH = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(
  document.querySelector('td .cut[title="admin@example.com"]'))`

/** How much wider a date would have to be for all that it shows. */
const MISSING_WIDTH = `(() => {
  const field = document.querySelector('.filters input[type=date]')
  const whole = field.cloneNode()
  whole.style.cssText = 'inline-size: max-content; min-inline-size: 0; max-inline-size: none'
  field.parentElement.append(whole)
  const missing = whole.offsetWidth - field.offsetWidth
  whole.remove()
  return missing
})()`

const PATHS = `[...document.querySelectorAll('nav.pages a[href^="#"]')].map(({ hash }) => hash.slice(2))`

const FOCUSED = `(() => {
  const { activeElement: { name } } = document
  return { name, outline: getComputedStyle(document.activeElement).outlineStyle }
})()`

/** What the browser writes to its own console from now on, including refused and missing resources. */
function reportsOf(page: Page): string[] {
  const reported: string[] = []
  page.on('console', (message) => {
    if (/error|warning/.test(message.type()))
      reported.push(`${message.text()} ${message.location().url}`)
  })
  return reported
}
