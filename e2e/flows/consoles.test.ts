import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { accessibilityFaults, listen } from '../consoles/accessibility.ts'
import { PHONE, WIDE } from '../consoles/both-widths.ts'
import { samplePng, textFile } from '../consoles/sample-files.ts'
import { collectTokens, findTokens } from '../consoles/token-probe.ts'
import {
  consoleOf,
  goTo,
  openConsole,
  sandboxPageOf,
  showRequests,
  signIn,
} from '../consoles/watched-page.ts'
import {
  claimsOf,
  openVisitor,
  signIn as signInAt,
  startApplication,
} from '../sign-in/application.ts'
import { startSuite } from '../stack.ts'

const skip = await browserSkip()
const NEW_PASSWORD = 'an entirely new password'

type Checkout = { paymentId: string; checkoutSessionId: string }
type Mail = { kind: string; code: string }

/** One flow of each console, in one suite. `npm run test:all` has the others, in `e2e/consoles`. */
describe('one flow of each console', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let landing: string
  let urlOf: (service: string) => string
  let orders = 0

  before(async () => {
    browser = await openBrowser(shared)
    const suite = await startSuite(shared, { STORAGE_FULL_USER_FILES: '200' })
    landing = suite.landingUrl
    urlOf = suite.urlOf
  })

  const post = async (url: string, body: object = {}) => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.ok(reply.ok, `${url}: ${reply.status}`)
    return reply
  }

  const register = async (name: string) => {
    const user = { username: name, email: `${name}@example.com`, password: 'correct horse battery' }
    await post(`${urlOf('identity')}/api/auth/register`, user)
    return user
  }

  const logIn = async (username: string, password: string) =>
    (await post(`${urlOf('identity')}/api/auth/login`, { username, password })).status

  const mailTo = async (to: string, kind: string): Promise<Mail> => {
    const read = async () => {
      const query = `to=${encodeURIComponent(to)}`
      const reply = await fetch(`${urlOf('identity')}/api/dev/mail?${query}`)
      return ((await reply.json()) as Mail[]).find((mail) => mail.kind === kind)
    }
    return (await until(read, (mail) => mail !== undefined)) as Mail
  }

  const control = (path: string) => post(`${urlOf('provider-sandbox')}/sandbox/api${path}`)

  /** Creates a checkout with the form and returns the session id of its hosted page. */
  async function createCheckout(page: Page): Promise<string> {
    await goTo(page, 'checkout')
    await page.getByRole('button', { name: 'Create the checkout' }).click()
    const link = page.getByRole('link', { name: 'Open the hosted page' })
    return new URL((await link.getAttribute('href')) ?? '').pathname.split('/').pop() ?? ''
  }

  /** A checkout of the payment service, whose provider is the sandbox. */
  async function checkOut(): Promise<Checkout> {
    orders += 1
    const order = { businessReference: `order-${orders}`, attemptReference: 'a1', amount: 4900 }
    const body = { ...order, currency: 'eur', description: 'A chair' }
    const reply = await post(`${urlOf('payments')}/api/checkout/sessions`, body)
    return (await reply.json()) as Checkout
  }

  async function paymentOf({ paymentId }: Checkout) {
    const reply = await fetch(`${urlOf('payments')}/api/payments/${paymentId}`)
    return (await reply.json()) as { status: string; checkoutStatus: string }
  }

  const press = (page: Page, action: string, { checkoutSessionId: id }: Checkout) =>
    page.getByRole('button', { name: `${action} ${id}`, exact: true }).click()

  test('landing page: shows every service with its health, version and seeded logins', async (t) => {
    const page = await openConsole(t, browser, landing)

    await page.getByRole('heading', { name: 'Everything is running.' }).waitFor()

    const cards = page.locator('.service-cards article')
    await cards.getByText('healthy', { exact: true }).nth(4).waitFor()
    assert.equal(await cards.count(), 5)
    await cards.first().getByText('password123123').first().waitFor()
    await page.getByText('storage-local-dev-key').waitFor()
  })

  test('identity: signs in with one click, shows the token, and keeps it in no storage', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('identity')))
    const tokens = collectTokens(page)

    await signIn(page, 'user')
    await goTo(page, 'session')

    await page.getByText('Signed in as user.').waitFor()
    await page.getByLabel('Token Claims').getByText('"username": "user"').waitFor()
    await page.locator('.session-bar', { hasText: /access token 1[0-5]:\d\d/ }).waitFor()
    for (const size of [PHONE, WIDE]) {
      await showRequests(page, size)
      await page.getByLabel('The request as curl').getByText('$PASSWORD').waitFor()
      const reply = page.getByLabel('Response body').last()
      await reply.locator('.json-text').getByText('$ACCESS_TOKEN').first().waitFor()
      assert.ok((await reply.locator('wbr').count()) > 0, 'long words may break')
    }
    assert.deepEqual(await findTokens(page, await tokens(2)), [])
  })

  test('account: a forgotten password: ask, type the code, choose a new one', async (t) => {
    const { username, email } = await register('codeuser')
    const page = await openConsole(t, browser, `${urlOf('identity')}/account/#forgot`)
    await page.getByLabel('E-mail address').fill(email)
    await page.getByRole('button', { name: 'Send the mail' }).click()
    await page.getByRole('heading', { name: 'Check your inbox' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])

    const { code } = await mailTo(email, 'password-reset')
    await page.getByLabel('Code from the mail').fill(`${code.slice(0, 4)} ${code.slice(4)}`)
    await page.getByRole('textbox', { name: 'New password' }).fill('short')
    await page.getByRole('button', { name: 'Save the password' }).click()
    await page.getByText('This password is too short').waitFor()
    await page.getByRole('textbox', { name: 'New password' }).fill(NEW_PASSWORD)
    await page.getByRole('button', { name: 'Save the password' }).click()
    await page.getByRole('heading', { name: 'Your new password is saved' }).waitFor()
    assert.equal(await logIn(username, NEW_PASSWORD), 200)
  })

  test('sign-in page: signs in with a password, asks for consent once, and is not shown again', async (t) => {
    const user = await register('shopper')
    const shop = await startApplication(t, urlOf('identity'))
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize())
    await page.getByText('To continue to Shop.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByLabel('Username').fill(user.username)
    await page.getByLabel('Password').fill('wrong')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('Wrong username or password.').waitFor()
    await signInAt(page, user)
    await page.getByRole('heading', { name: 'Allow Shop?' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Allow', exact: true }).click()

    const answer = await shop.answered(page)
    const { status, body } = await shop.redeem(answer)
    assert.deepEqual([status, answer.state, answer.iss], [200, 'of the shop', urlOf('identity')])
    const { preferred_username, email } = claimsOf(body.id_token)
    assert.deepEqual([preferred_username, email], [user.username, user.email])
    await page.goto(shop.authorize())
    const again = await shop.answered(page)
    assert.notEqual(again.code, answer.code)
  })

  test('storage, full edition: uploads several files and shows them as a grid and as a list', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('storage-full')))
    await signIn(page, 'user')
    await goTo(page, '')
    const files = [
      samplePng('lake.png', 0),
      samplePng('dunes.png', 1),
      textFile('notes.txt', 'remember the milk'),
    ]

    await page.getByLabel('Files to upload').setInputFiles(files)

    await page.locator('.uploads .badge.good').nth(2).waitFor()
    await page.locator('.file-grid li', { hasText: 'dunes.png' }).waitFor()
    // Thumbnails are loaded as they come into view.
    for (const { name } of files)
      await page.locator('.file-grid li', { hasText: name }).scrollIntoViewIfNeeded()
    await page.getByText(/^You have stored .*, 3 of 200 files\.$/).waitFor()
    const drawn = () =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll('.file-grid img')].flatMap((image) =>
          image.naturalWidth > 0 ? [image.src] : [])`,
      )
    const sources = await until(drawn, ({ length }) => length === 2)
    await page.locator('.file-grid .placeholder', { hasText: 'TXT' }).waitFor()
    for (const source of sources) assert.match(source, /^blob:/)
    await page.getByRole('button', { name: 'List', exact: true }).click()
    await page.getByRole('cell', { name: 'text/plain' }).waitFor()
  })

  test('storage, full edition: makes a folder, moves files into it, finds one there and restores another', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('storage-full')))
    await signIn(page, 'admin')
    await goTo(page, '?in=%2F')
    const files = [textFile('invoice 2026.txt', 'pay'), textFile('draft.txt', 'later')]
    await page.getByLabel('Files to upload').setInputFiles(files)
    await page.locator('.uploads .badge.good').nth(1).waitFor()

    for (const { name } of files) await page.getByLabel(`Select ${name}`).check()
    const bar = page.getByRole('region', { name: 'Selected rows' })
    await bar.getByRole('button', { name: 'Move', exact: true }).click()
    await bar.getByLabel('To the folder').fill('/papers')
    await bar.getByRole('button', { name: 'Move them there' }).click()
    await page.getByText('2 of 2 moved.').waitFor()
    await page.getByRole('link', { name: 'papers' }).click()
    const card = (name: string) => page.locator('.file-grid li', { hasText: name })
    await page.getByRole('button', { name: 'Delete draft.txt' }).click()
    await page.getByText('Deleted draft.txt').waitFor()
    await page.getByLabel('Words of the name').fill('2026 inv')
    await page.getByRole('form', { name: 'Search files' }).getByText('Search').last().click()
    await card('invoice 2026.txt').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await goTo(page, 'trash')
    await page.getByRole('button', { name: 'Restore draft.txt' }).click()
    await page.getByText('Restored draft.txt').waitFor()
    await goTo(page, '?in=%2Fpapers')
    await card('draft.txt').waitFor()
  })

  test('storage, key edition: uploads, lists, describes, downloads and deletes a file with the pre-filled key', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('storage-key')))
    await page.getByText('accepted').waitFor()
    const picture = samplePng('Harbour.PNG')
    const heard = await listen(page)

    await page.getByLabel('Files to upload').setInputFiles(picture)
    await page.getByText('stored', { exact: true }).waitFor()
    await heard('stored')
    const name = await page.locator('.stored-names button').first().innerText()
    assert.match(name, /^[0-9a-f-]{36}\.png$/)
    await page.locator('.uploads', { hasText: `Stored as ${name}` }).waitFor()

    await page.getByText('image/png', { exact: true }).waitFor()
    const shown = page.getByRole('img', { name })
    await until(
      () => shown.evaluate((image: { naturalWidth: number }) => image.naturalWidth),
      (width) => width > 0,
    )
    assert.deepEqual(await accessibilityFaults(page), [])
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    assert.deepEqual(readFileSync(await (await downloading).path()), picture.buffer)

    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Keep it' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('It cannot be restored.').waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('The store is empty').waitFor()
  })

  test('payments: creates a checkout, sees it paid on the hosted page, and refunds it in two parts', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('payments')))
    await page.getByText('SANDBOX', { exact: true }).waitFor()
    const session = await createCheckout(page)
    await page.getByRole('link', { name: 'Watch the payment' }).click()
    await page.getByText('PENDING', { exact: true }).waitFor()
    await page.getByText('Nothing has been paid yet.').waitFor()

    await control(`/sessions/${session}/pay`)
    await page.getByText('PAID', { exact: true }).waitFor()
    await page.getByText('The customer finished the hosted page').waitFor()

    await page.getByLabel('Amount in EUR').fill('10.005')
    await page.getByText('Enter an amount such as 49.00.').waitFor()
    await page.getByLabel('Amount in EUR').fill('10')
    await page.getByRole('button', { name: 'Refund', exact: true }).click()
    await page.getByText('Send €10.00 back? This cannot be undone.').waitFor()
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByRole('button', { name: 'Refund', exact: true }).click()
    await page.getByRole('button', { name: 'Refund', exact: true }).click()
    await page.getByText('PARTIALLY REFUNDED', { exact: true }).waitFor()
    await page.getByText('€10.00 refunded, €39.00 kept').waitFor()
    await page.getByText('€10.00 of €49.00 went back in 1 refund.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Check now' }).click()
    await page.getByText('Checked with the provider').waitFor()
    assert.equal(await page.getByLabel('Amount in EUR').inputValue(), '')
    await page.getByRole('button', { name: 'Refund', exact: true }).click()
    await page.getByText('Send €39.00 back? This cannot be undone.').waitFor()
    await page.getByRole('button', { name: 'Refund', exact: true }).click()

    await page.getByText('REFUNDED', { exact: true }).waitFor()
    await page.getByText('Everything has been refunded.').first().waitFor()
  })

  test('the hosted checkout: pays on the hosted page itself and comes back to the console', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('payments')))
    await createCheckout(page)
    const opening = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'Open the hosted page' }).click()
    const hosted = await opening

    await hosted.getByText('SANDBOX').first().waitFor()
    await hosted.getByRole('button', { name: /^Pay/ }).first().click()
    await hosted.waitForURL(/checkout=success/)
    // Another payment that changes meanwhile must not be taken for the customer's.
    await goTo(page, '')
    await createCheckout(page)
    await hosted.reload()

    await hosted.getByText('The customer is back from the hosted page.').waitFor()
    await hosted.locator('.step.done', { hasText: 'Pay on the hosted page' }).waitFor()
    await hosted.getByRole('link', { name: 'Open the payment' }).click()
    await hosted.getByRole('button', { name: 'Refund', exact: true }).click()
    await hosted.getByRole('button', { name: 'Refund', exact: true }).click()
    await hosted.getByText('Everything has been refunded.').first().waitFor()
    await goTo(hosted, '')
    await hosted.locator('.step.done').nth(2).waitFor()
    assert.equal(await hosted.getByText('The customer is back').count(), 0, 'said once')
  })

  test('sandbox: pays, declines and expires sessions, and the service is notified', async (t) => {
    const [paid, declined, expired] = [await checkOut(), await checkOut(), await checkOut()]
    const page = await openConsole(
      t,
      browser,
      `${sandboxPageOf(urlOf('provider-sandbox'))}sessions`,
    )

    await press(page, 'Decline', declined)
    await page.getByText('The card was declined; the session stays open.').waitFor()
    await press(page, 'Expire', expired)
    await press(page, 'Pay', paid)
    await page.getByText('The session is paid.').waitFor()
    await page.getByRole('button', { name: `Copy ${paid.checkoutSessionId}` }).click()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), paid.checkoutSessionId)
    assert.equal(await page.getByText(paid.checkoutSessionId, { exact: true }).count(), 0)
    assert.deepEqual(await accessibilityFaults(page), [])

    await until(
      () => paymentOf(paid),
      ({ status }) => status === 'PAID',
    )
    await until(
      () => paymentOf(expired),
      ({ checkoutStatus }) => checkoutStatus === 'EXPIRED',
    )
    assert.equal((await paymentOf(declined)).checkoutStatus, 'OPEN')
  })

  test('reference: signs in, sends a call and shows its reply, and stores no token', async (t) => {
    const page = await openConsole(t, browser, `${urlOf('identity')}/reference/index.html`)
    const tokens = collectTokens(page)
    await page.getByRole('button', { name: 'Sign in as admin' }).click()
    await page.getByText('Signed in').waitFor()

    const me = page.locator('#me')
    await me.getByRole('button', { name: 'Try it' }).click()
    await me.getByRole('button', { name: /^Send/ }).click()

    await me.getByText('200', { exact: true }).waitFor()
    assert.match(await me.getByLabel('Body of the reply').innerText(), /"username": "admin"/)
    assert.deepEqual(await accessibilityFaults(page, { part: '#me' }), [])
    assert.deepEqual(await findTokens(page, await tokens(2)), [])
  })
})
