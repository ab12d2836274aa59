import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { paymentsClient } from '@plinth/client'
import type { Browser } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { PHONE } from './both-widths.ts'
import { samplePng } from './sample-files.ts'
import { consoleOf, goTo, openConsole, signIn } from './watched-page.ts'

const skip = await browserSkip()

const LAPTOP = { width: 1280, height: 720 }
const PASSWORD = 'correct horse battery'
const LONG_NAME = 'Donaudampfschifffahrtsgesellschaftskapitaenswitwen'

describe('in a browser unlike ours', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared)
  })

  for (const [clock, minutes] of [
    ['slow', -10],
    ['fast', 10],
  ] as const)
    test(`whose clock is ten minutes ${clock}, a token is shown as expired when it is, and is renewed`, async (t) => {
      const page = await openConsole(t, browser, consoleOf(suite.urlOf('storage-full')), {
        viewport: LAPTOP,
      })
      await page.clock.install({ time: Date.now() + minutes * 60_000 })
      await signIn(page, 'user')
      const bar = page.locator('.session-bar')
      await bar.getByText(/^access token 1[45]:/).waitFor()
      const [first] = await Promise.all([
        page.waitForRequest('**/file/search?*').then((request) => request.allHeaders()),
        goTo(page, ''),
      ])

      await page.route('**/file/search?*', async (route) => {
        const { authorization } = await route.request().allHeaders()
        if (authorization === first.authorization) await route.fulfill({ status: 401, body: '' })
        else await route.continue()
      })
      await goTo(page, 'session')
      await page.clock.fastForward(15 * 60_000)
      await bar.getByText('expired', { exact: false }).first().waitFor()
      await goTo(page, '')

      await page.getByText('No files', { exact: false }).first().waitFor()
      await bar.getByText(/^access token 1[45]:/).waitFor()
    })

  for (const hours of [-2, 2])
    test(`whose clock is off by ${hours} hours, links and deleted files last as long as the service says`, async (t) => {
      const page = await openConsole(t, browser, consoleOf(suite.urlOf('storage-full')), {
        viewport: LAPTOP,
      })
      await page.clock.install({ time: Date.now() + hours * 3_600_000 })
      await signIn(page, 'user')
      await goTo(page, '')
      await page.getByLabel('Files to upload').setInputFiles(samplePng('clock.png'))
      await page.getByRole('link', { name: 'clock.png' }).click()

      await page.getByRole('button', { name: '1 hour' }).click()

      await page.getByRole('cell', { name: /^(59:|1 h 0 min)/ }).waitFor()
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByText('Deleted clock.png').waitFor()
      await goTo(page, 'trash')
      await page.getByRole('button', { name: 'Restore clock.png' }).first().waitFor()
    })

  for (const [locale, pattern] of [
    ['en-GB', /\d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d/],
    ['en-US', /[A-Z][a-z]+ \d+, \d{4}, \d+:\d\d\s[AP]M/],
    ['de-AT', /\d\d\.\d\d\.\d{4}, \d\d:\d\d/],
  ] as const)
    test(`whose region is ${locale}, /account/ has the dates of that region`, async (t) => {
      await register('identity')
      const account = await openConsole(t, browser, `${suite.urlOf('identity')}/account/`, {
        viewport: LAPTOP,
        locale,
      })
      await account.getByRole('textbox').first().fill(LONG_NAME)
      await account.locator('input[type=password]').fill(PASSWORD)
      await account.locator('input[type=password]').press('Enter')

      await account.getByText(pattern).first().waitFor()
    })

  for (const service of ['identity', 'storage-full'])
    test(`on a small laptop, every column of the users and the audit of ${service} is in view`, async (t) => {
      await register(service)
      const page = await openConsole(t, browser, consoleOf(suite.urlOf(service)), {
        viewport: LAPTOP,
      })
      await signIn(page, 'admin')

      for (const path of ['users', 'audit']) {
        await goTo(page, path)
        await page.getByText(LONG_NAME).first().waitFor()
        for (const width of [1280, 1366, 1440]) {
          await page.setViewportSize({ ...LAPTOP, width })
          assert.equal(await page.evaluate(HIDDEN_IN_TABLES), 0, `${path} at ${width} px`)
        }
      }
    })

  test('long references and addresses hide no column, and a phone shows all of them', async (t) => {
    await register('identity')
    await paymentsClient(suite.urlOf('payments')).checkouts.create({
      ...{ amount: 99_999_999, currency: 'EUR', description: 'A ship' },
      ...{ businessReference: LONG_NAME, attemptReference: 'attempt-1' },
    })
    const mails = await openConsole(t, browser, consoleOf(suite.urlOf('identity')), {
      viewport: LAPTOP,
    })
    await signIn(mails, 'admin')
    await goTo(mails, 'mail')
    const payments = await openConsole(t, browser, consoleOf(suite.urlOf('payments'), 'payments'), {
      viewport: LAPTOP,
    })

    for (const page of [mails, payments]) {
      const name = page.locator('td .cut', { hasText: LONG_NAME }).first()
      await name.waitFor()
      for (const size of [LAPTOP, { width: 1366, height: 768 }, { width: 1440, height: 900 }]) {
        await page.setViewportSize(size)
        assert.equal(await page.evaluate(HIDDEN_IN_TABLES), 0, `at ${size.width} px`)
      }
      await page.setViewportSize(PHONE)
      assert.deepEqual(await page.evaluate(CUT_NAMES), [])
    }
  })

  test('enlarged four times, the pages for users and customers break long words', async (t) => {
    await register('identity')
    const { checkoutUrl } = await paymentsClient(suite.urlOf('payments')).checkouts.create({
      ...{ amount: 99_999_999, currency: 'EUR', description: LONG_NAME.repeat(3) },
      ...{ businessReference: 'long-words', attemptReference: 'attempt-1' },
    })
    const viewport = { width: 320, height: 256 }
    const account = await openConsole(t, browser, `${suite.urlOf('identity')}/account/`, {
      viewport,
    })
    await account.getByLabel('Username').fill(LONG_NAME)
    await account.getByLabel('Password').fill(PASSWORD)
    await account.getByRole('button', { name: 'Sign in', exact: true }).click()
    await account.getByText(`Signed in as ${LONG_NAME}.`).waitFor()
    const checkout = await openConsole(t, browser, checkoutUrl, { viewport })

    for (const page of [account, checkout])
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), viewport.width)
  })

  test('whose text is set to very large, the pages follow and still fit a phone', async (t) => {
    const large = await openBrowser(t, ['--blink-settings=defaultFontSize=24'])
    const landing = await openConsole(t, large, suite.landingUrl, { viewport: PHONE })
    const payments = await openConsole(t, large, consoleOf(suite.urlOf('payments')), {
      viewport: PHONE,
    })
    const account = await openConsole(t, large, `${suite.urlOf('identity')}/account/`, {
      viewport: PHONE,
    })

    for (const page of [landing, payments, account]) {
      await page.getByRole('heading', { level: 1 }).waitFor()
      assert.equal(await page.evaluate('getComputedStyle(document.body).fontSize'), '22.5px')
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width)
    }
  })

  test('that prints, only the page itself is on paper, and all of it', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('payments'), 'checkout'), {
      viewport: { width: 1123, height: 400 },
    })
    await page.getByRole('button', { name: 'Create the checkout' }).waitFor()
    await page.emulateMedia({ media: 'print' })

    assert.equal(await page.getByRole('navigation', { name: 'Pages' }).isVisible(), false)
    assert.equal(await page.locator('.inspector').isVisible(), false)
    assert.equal(
      await page.evaluate('document.documentElement.scrollHeight'),
      await page.evaluate('document.querySelector(".main").scrollHeight'),
    )
  })

  test('with the colours of a high-contrast theme, what only a colour shows can be seen', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')), {
      viewport: LAPTOP,
      forcedColors: 'active',
      colorScheme: 'dark',
    })
    await signIn(page, 'user')
    await goTo(page, 'security')
    await page.getByRole('button', { name: 'Set up an authenticator' }).click()
    await page.getByRole('img', { name: 'QR code for the authenticator' }).waitFor()

    const look = (selector: string) =>
      page.evaluate<string>(
        `getComputedStyle(document.querySelector('${selector}')).backgroundColor`,
      )

    assert.equal(await look('.qr'), 'rgb(255, 255, 255)')
    assert.notEqual(await look('.pages a[aria-current]'), await look('.pages a'))
    assert.notEqual(await look('[aria-pressed=true]'), await look('[aria-pressed=false]'))
    assert.notEqual(await look('progress'), await look('.session-bar'))
    const edge = page.getByRole('separator', { name: 'Width of the request panel' })
    await edge.focus()
    await page.keyboard.press('ArrowLeft')
    // Otherwise the theme replaces its background, and nothing is left to see.
    const keepsColour = "getComputedStyle(document.activeElement).forcedColorAdjust === 'none'"
    assert.ok(await page.evaluate(keepsColour))
  })

  async function register(service: string): Promise<void> {
    const reply = await fetch(`${suite.urlOf(service)}/api/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        username: LONG_NAME,
        email: `${LONG_NAME}@${'a-long-name-of-a-company'.repeat(2)}.example`,
        password: PASSWORD,
      }),
    })
    assert.ok([201, 409].includes(reply.status), `${reply.status}`)
  }
})

/** How many pixels of the tables on the page are out of view. */
const HIDDEN_IN_TABLES = `[...document.querySelectorAll('.table-frame')]
  .map((frame) => frame.scrollWidth - frame.clientWidth)
  .reduce((sum, hidden) => sum + hidden, 0)`

const CUT_NAMES = `[...document.querySelectorAll('.table-frame .cut')]
  .filter((name) => name.scrollWidth > name.clientWidth)
  .map((name) => name.textContent)`
