import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite, takePayment } from '../stack.ts'
import { suiteCleanup } from '../suite-cleanup.ts'
import { accessibilityFaults } from './accessibility.ts'
import { textFile } from './sample-files.ts'
import { consoleOf, goTo, openConsole, PHONE, signIn } from './watched-page.ts'

const skip = await browserSkip()
const run = promisify(execFile)
const CREDENTIALS = { username: 'walter', password: 'a long enough password' }

describe('where people stumbled', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared, { STORAGE_FULL_MAX_FILE_SIZE: '20KB' })
  })

  test('a copied command runs as it is', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')))
    await signIn(page, 'user')
    await goTo(page, 'profile')
    await page.locator('.exchange-list button', { hasText: '/api/users/me' }).last().click()

    await page.getByRole('button', { name: 'Copy', exact: true }).click()
    const bare = await page.evaluate<string>('navigator.clipboard.readText()')
    await page.getByRole('button', { name: 'Copy with my token' }).click()
    const live = await page.evaluate<string>('navigator.clipboard.readText()')

    assert.doesNotMatch(bare, /eyJ/)
    for (const command of [bare, live])
      assert.match((await run('sh', ['-c', command])).stdout, /"email":"user@example.com"/)
  })

  test('a copied command of the key edition runs with the development key', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('storage-key')))
    await page.locator('.exchange-list button', { hasText: '/file/list' }).click()

    await page.getByRole('button', { name: 'Copy', exact: true }).click()
    const command = await page.evaluate<string>('navigator.clipboard.readText()')

    assert.equal((await run('sh', ['-c', command])).stdout, '[]')
  })

  test('a file over the limit of the service is refused before it is sent', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('storage-full')))
    await signIn(page, 'user')
    await goTo(page, '')
    await page.getByText('up to 20 kB each').waitFor()
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(request.url())
    })

    await page.getByLabel('Files to upload').setInputFiles([textFile('a.txt', 'a'.repeat(30_000))])

    await page.getByText('The file is too large').waitFor()
    assert.deepEqual(sent, [])
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('the list of sessions is right after a password change, and a dead one is no fault', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity'), 'session'))
    const form = page.getByRole('form', { name: 'Register' })
    await form.getByLabel('Username').fill(CREDENTIALS.username)
    await form.getByLabel('E-mail').fill('walter@example.com')
    await form.getByLabel('Password').fill(CREDENTIALS.password)
    await form.getByRole('button', { name: 'Create account' }).click()
    await page.getByText('Signed in as walter.').waitFor()
    const others = [await logIn(), await logIn()]
    await goTo(page, 'profile')
    const rows = page.getByRole('table', { name: 'Your sessions' }).getByRole('row')
    await until(
      () => rows.count(),
      (count) => count === 4,
    )

    await endOwnSession(others[0] ?? '')
    const buttons = page.getByRole('button', { name: 'End', exact: true })
    for (let left = await buttons.count(); left > 1; left = await buttons.count()) {
      await buttons.first().click()
      await until(
        () => buttons.count(),
        (count) => count < left,
      )
    }
    assert.equal(await page.locator('.notice.bad').count(), 0)

    await page.getByLabel('Current password').fill(CREDENTIALS.password)
    await page.getByLabel('New password').fill('another long password')
    await page.getByRole('button', { name: 'Change password' }).click()

    await page.getByText('Password changed.').waitFor()
    await until(
      () => rows.count(),
      (count) => count === 2,
    )
  })

  test('coming back from a paid checkout continues the guided steps', async (t) => {
    await takePayment(suite.urlOf)
    const address = `${suite.urlOf('payments')}/api-test/index.html?checkout=success`
    const page = await openConsole(t, browser, address)

    await page.locator('.step.done', { hasText: 'Pay on the hosted page' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('link', { name: 'Open the payment' }).click()

    await page.getByRole('heading', { name: 'order-1' }).waitFor()
  })

  test('the way back leads to where the page was left', async (t) => {
    const small = { viewport: { width: 1440, height: 500 } }
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')), small)
    await signIn(page, 'user')
    const position = () => page.evaluate<number>(`document.querySelector('.main').scrollTop`)
    await page.evaluate(`document.querySelector('.main').scrollTop = 300`)

    await page.getByRole('link', { name: 'Profile' }).click()
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    assert.equal(await position(), 0)
    // A screen reader goes on from the heading of the new page.
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Profile')
    await page.goBack()

    await until(position, (found) => found === 300)
  })

  test('the panel of requests is resized and hidden, and stays so', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')))
    const panel = page.locator('.inspector')
    const widthOf = async () => (await panel.boundingBox())?.width ?? 0
    const before = await widthOf()

    await page.getByRole('separator', { name: 'Width of the requests' }).press('ArrowRight')
    assert.equal(await until(widthOf, (width) => width !== before), before - 24)
    await page.reload()
    await panel.waitFor()
    assert.equal(await widthOf(), before - 24)

    await page.getByRole('button', { name: 'Hide the requests' }).click()
    await panel.waitFor({ state: 'hidden' })
    await page.reload()
    await page.getByRole('heading', { level: 1 }).waitFor()
    assert.equal(await panel.isVisible(), false)
    await page.getByRole('button', { name: 'Requests' }).click()
    await panel.waitFor()
  })

  test('while the service does not answer, the page says so once', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('payments')))
    await page.route('**/api/**', (route) => route.abort())

    await goTo(page, 'payments')

    await page.getByText('The service does not answer.').waitFor()
    assert.equal(
      await page
        .locator('.main')
        .getByText(/answer/)
        .count(),
      1,
    )
    await page.unroute('**/api/**')
    await goTo(page, 'webhooks')
    await page.getByText('The service does not answer.').waitFor({ state: 'detached' })
  })

  test('Escape closes the list of pages on a phone', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')), {
      viewport: PHONE,
    })
    await page.getByRole('button', { name: 'Pages' }).click()
    await page.getByRole('link', { name: 'Passkeys' }).waitFor()

    await page.keyboard.press('Escape')

    await page.getByRole('link', { name: 'Passkeys' }).waitFor({ state: 'hidden' })
  })

  test('the landing page does not call healthy what it cannot see', async (t) => {
    const page = await openConsole(t, browser, suite.landingUrl)
    await page.getByRole('heading', { name: 'Everything is running.' }).waitFor()

    await page.route('**/api/services', (route) => route.abort())

    await page.getByRole('heading', { name: 'No answer.' }).waitFor()
    assert.equal(await page.getByText('healthy', { exact: true }).count(), 0)
    assert.equal(await page.getByText('unknown', { exact: true }).count(), 5)
  })

  async function logIn(): Promise<string> {
    const reply = await fetch(`${suite.urlOf('identity')}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(CREDENTIALS),
    })
    return ((await reply.json()) as { accessToken: string }).accessToken
  }

  async function endOwnSession(accessToken: string): Promise<void> {
    const sessions = `${suite.urlOf('identity')}/api/users/me/sessions`
    const headers = { authorization: `Bearer ${accessToken}` }
    const known = (await (await fetch(sessions, { headers })).json()) as {
      id: number
      current: boolean
    }[]
    const own = known.find(({ current }) => current)
    await fetch(`${sessions}/${own?.id}`, { method: 'DELETE', headers })
  }
})

describe('without demo accounts', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared, {
      IDENTITY_DEMO_ACCOUNTS: 'false',
      STORAGE_FULL_DEMO_ACCOUNTS: 'false',
      IDENTITY_REGISTRATION: 'closed',
    })
  })

  test('no page offers one, and a closed registration is not offered either', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity'), 'session'))

    await page.getByRole('form', { name: 'Sign in' }).waitFor()

    await page.getByRole('form', { name: 'Register' }).waitFor({ state: 'detached' })
    assert.equal(await page.getByText(/demo account|password123123/).count(), 0)
    assert.equal(await page.getByRole('button', { name: 'Sign in as user' }).count(), 0)
    await goTo(page, '')
    await page.getByRole('link', { name: 'Sign in' }).first().waitFor()
    assert.equal(await page.getByText(/demo account/).count(), 0)
  })

  test('the landing page has no things to try', async (t) => {
    const page = await openConsole(t, browser, suite.landingUrl)
    await page.getByRole('heading', { name: 'Everything is running.' }).waitFor()

    assert.equal(await page.getByText('Three things to try first').count(), 0)
    assert.equal(await page.getByText('password123123').count(), 0)
  })
})
