import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { paymentsClient, storageClient } from '@plinth/client'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite, takePayment } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { onlyAt, PHONE, WIDE } from './both-widths.ts'
import { textFile } from './sample-files.ts'
import { consoleOf, goTo, openConsole, showRequests, signIn } from './watched-page.ts'

const skip = await browserSkip()
const run = promisify(execFile)
const CREDENTIALS = { username: 'walter', password: 'a long enough password' }

const DRAWING = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h9"/></svg>'

const browser = skip ? ({} as Browser) : await openBrowser(suiteCleanup())

describe('where people stumbled', { skip }, () => {
  const shared = suiteCleanup()
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    suite = await startSuite(shared, {
      STORAGE_FULL_MAX_FILE_SIZE: '20KB',
      STORAGE_FULL_ALLOWED_TYPES: 'default,csv,md,svg',
    })
  })

  test('a copied command runs unchanged', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')))
    await signIn(page, 'user')
    await goTo(page, 'profile')
    await showRequests(page, PHONE)
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
    await showRequests(page, PHONE)
    await page.locator('.exchange-list button', { hasText: '/file/list' }).click()

    // As on a local network address, where plain http gives a page no clipboard.
    await page.evaluate(
      "Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })",
    )
    await page.getByRole('button', { name: 'Copy', exact: true }).click()
    await page.getByRole('button', { name: /^Copied/ }).waitFor()
    assert.match(await page.evaluate('document.activeElement.textContent'), /^Cop/)
    await page.evaluate('delete navigator.clipboard')
    const command = await page.evaluate<string>('navigator.clipboard.readText()')

    assert.equal((await run('sh', ['-c', command])).stdout, '[]')
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('a copied upload runs in the folder that the page names', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'plinth-copied-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const paper = textFile('paper.pdf', '%PDF-1.4\n%%EOF\n', 'application/pdf')
    await writeFile(join(folder, paper.name), paper.buffer)
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('storage-key')))
    await page.getByLabel('Files to upload').setInputFiles(paper)
    await page.locator('.uploads').getByText('stored', { exact: true }).waitFor()
    await showRequests(page, PHONE)
    await page.locator('.exchange-list button', { hasText: 'POST' }).click()

    await page.getByText('Run it in the folder of paper.pdf').waitFor()
    await page.getByRole('button', { name: 'Copy', exact: true }).click()
    const command = await page.evaluate<string>('navigator.clipboard.readText()')

    assert.match((await run('sh', ['-c', command], { cwd: folder })).stdout, /\.pdf$/)
  })

  test('types that the operator added are accepted, and a refusal lists the accepted types', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('storage-full')))
    await signIn(page, 'user')
    await goTo(page, '')
    await page.getByText(/, CSV, MD and SVG, up to 20 kB each$/).waitFor()

    await page
      .getByLabel('Files to upload')
      .setInputFiles([
        textFile('table.csv', 'a,b\n1,2\n', 'text/csv'),
        textFile('read.md', '# Read', ''),
        textFile('drawing.svg', DRAWING, 'image/svg+xml'),
        textFile('letter.docx', 'PK\x03\x04', ''),
      ])
    const uploads = page.locator('.uploads')
    await uploads.locator('.badge.good').nth(2).waitFor()
    await uploads
      .getByText(/^The extension \.docx is not accepted\. Accepted types: PNG, .* and SVG\.$/)
      .waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])

    await page.locator('.file-grid a', { hasText: 'drawing.svg' }).click()
    await page.getByRole('button', { name: '5 minutes' }).click()
    const link = await page.getByRole('link', { name: /Open it/ }).getAttribute('href')
    const reply = await fetch(link ?? '')
    assert.match(reply.headers.get('content-disposition') ?? '', /^attachment/)
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

  test('the list of sessions is right after a password change, and ending a dead one is no error', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity'), 'session'))
    const form = page.getByRole('form', { name: 'Register' })
    await form.getByLabel('Username').fill(CREDENTIALS.username)
    await form.getByLabel('E-mail').fill('walter@example.com')
    await form.getByLabel('Password').fill(CREDENTIALS.password)
    await form.getByRole('button', { name: 'Create account' }).click()
    await page.getByText('Signed in as walter.').waitFor()
    const others = [await logIn(), await logIn()]
    await goTo(page, 'profile')
    const rows = page.getByRole('table', { name: 'Devices' }).getByRole('row')
    await until(
      () => rows.count(),
      (count) => count === 4,
    )

    await endOwnSession(others[0] ?? '')
    const buttons = page.getByRole('table').getByRole('button', { name: /^Sign out/ })
    for (let left = await buttons.count(); left > 1; left = await buttons.count()) {
      await buttons.first().click()
      await page.getByRole('button', { name: /^Yes/ }).click()
      await until(
        () => buttons.count(),
        (count) => count < left,
      )
    }
    assert.equal(await page.locator('.notice.bad').count(), 0)

    await page.getByLabel('Current password').fill(CREDENTIALS.password)
    await page.getByLabel('New password').fill('another long password')
    await page.getByRole('button', { name: 'Save the password' }).click()

    await page.getByText('Your password is changed.').waitFor()
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

  for (const { name, viewport } of [
    { name: 'in a wide window', viewport: { width: 1440, height: 500 } },
    { name: 'on a phone', viewport: { width: 390, height: 500 } },
  ])
    test(`going back restores the scroll position, ${name}`, async (t) => {
      const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')), { viewport })
      await signIn(page, 'user')
      const scrolling = viewport.width > 1024 ? '.main' : 'html'
      const position = () =>
        page.evaluate<number>(`document.querySelector('${scrolling}').scrollTop`)
      const pages = page.getByRole('button', { name: 'Pages' })
      if (await pages.isVisible()) await pages.click()
      await page.evaluate(`document.querySelector('${scrolling}').scrollTop = 300`)

      await page.getByRole('link', { name: 'Profile' }).click()
      await page.getByRole('heading', { name: 'Profile' }).waitFor()
      await until(position, (found) => found === 0)
      // A screen reader continues from the heading of the new page.
      const focused = () => page.evaluate('document.activeElement.textContent')
      await until(focused, (text) => text === 'Profile')
      await page.goBack()

      await until(position, (found) => found === 300)
    })

  for (const { name, viewport } of [
    { name: 'in a wide window', viewport: { width: 1440, height: 500 } },
    { name: 'on a phone', viewport: { width: 390, height: 500 } },
  ])
    test(`going back finds a list as it was left, ${name}`, async (t) => {
      await Promise.all([haveManyPayments(), haveManyFiles()])
      const scrolling = viewport.width > 1024 ? '.main' : 'html'
      const open = (service: string, at = '') =>
        openConsole(t, browser, consoleOf(suite.urlOf(service), at), { viewport })
      const position = (page: Page) =>
        page.evaluate<number>(`document.querySelector('${scrolling}').scrollTop`)
      const back = async (page: Page, left: number) => {
        await page.goBack()
        await until(
          () => position(page),
          (found) => found === left,
        )
      }

      const payments = await open('payments', 'payments')
      await payments.getByRole('button', { name: 'Next' }).click()
      await payments.getByText('Page 2 of 2').waitFor()
      const second = payments.locator('td a').last()
      const reference = await second.innerText()
      await second.scrollIntoViewIfNeeded()
      const leftPayments = await position(payments)
      await second.click()
      await payments.getByRole('heading', { name: reference }).waitFor()
      await back(payments, leftPayments)
      await payments.getByText('Page 2 of 2').waitFor()
      await payments.getByRole('link', { name: reference, exact: true }).waitFor()

      await payments.getByLabel('Business reference').fill('many-3')
      await payments.getByRole('button', { name: 'Find' }).click()
      await payments.getByText('Page 2 of 2').waitFor({ state: 'detached' })
      await payments.getByRole('link', { name: 'many-3', exact: true }).click()
      await payments.getByRole('heading', { name: 'many-3' }).waitFor()
      await payments.goBack()
      await payments.getByRole('link', { name: 'many-3', exact: true }).waitFor()
      assert.equal(await payments.getByLabel('Business reference').inputValue(), 'many-3')
      assert.equal(await payments.locator('tbody tr').count(), 1)

      const files = await open('storage-full')
      await signIn(files, 'user')
      await goTo(files, '')
      const shown = files.locator('.file-grid li')
      await shown.nth(47).waitFor()
      await files.getByRole('button', { name: 'Show more' }).click()
      await shown.nth(48).waitFor()
      await shown.nth(48).scrollIntoViewIfNeeded()
      const leftFiles = await position(files)
      assert.ok(leftFiles > 0)
      await shown.nth(48).getByRole('link').first().click()
      await files.getByRole('heading', { name: 'Preview' }).waitFor()
      await back(files, leftFiles)
      await shown.nth(48).waitFor()
    })

  test('a registration that has to be confirmed does not promise a sign-in', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity'), 'session'))
    await page.getByText('Creates an account and signs you in.').waitFor()

    const facts = { suite: null, registration: true, registrationByMail: true }
    await page.route('**/facts.json', (route) => route.fulfill({ json: facts }))
    await page.reload()

    await page.getByText('The account is created when you confirm it.').waitFor()
  })

  test('the consoles open in a browser that allows them no storage', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')))
    await page.addInitScript(`Object.defineProperty(window, 'localStorage', {
      get() { throw new DOMException('Access is denied', 'SecurityError') },
    })`)

    await page.reload()

    await page.getByRole('heading', { name: 'Accounts, tokens and passkeys' }).waitFor()
  })

  test('the access token is copied without a clipboard, too', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')))
    await signIn(page, 'user')
    await page.evaluate(
      "Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })",
    )
    await page.getByRole('button', { name: 'Copy the token itself…' }).click()
    await page.getByRole('button', { name: 'Copy it anyway' }).click()

    await page.getByText('Copied. It works until it expires.').waitFor()
    await page.evaluate('delete navigator.clipboard')
    const token = await page.evaluate<string>('navigator.clipboard.readText()')
    assert.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/)
  })

  test('the request panel can be resized and hidden, and stays that way', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')), {
      viewport: WIDE,
    })
    const panel = page.locator('.inspector')
    const widthOf = async (part = panel) => (await part.boundingBox())?.width ?? 0
    const before = await widthOf()
    const content = page.locator('.main')

    await page.getByRole('separator', { name: 'Width of the request panel' }).press('ArrowRight')
    assert.equal(await until(widthOf, (width) => width !== before), before - 24)
    await page.reload()
    await panel.waitFor()
    assert.equal(await widthOf(), before - 24)

    const narrow = await widthOf(content)
    await page.getByRole('button', { name: 'Hide the requests' }).click()
    await panel.waitFor({ state: 'hidden' })
    assert.equal(await widthOf(content), narrow + before - 24, 'the page takes the space')
    await page.reload()
    await page.getByRole('heading', { level: 1 }).waitFor()
    assert.equal(await panel.isVisible(), false)
    await page.getByRole('button', { name: 'Requests' }).click()
    await panel.waitFor()
  })

  test('hiding and showing the request panel keeps the focus on the button for it', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')), {
      viewport: WIDE,
    })
    const hide = page.getByRole('button', { name: 'Hide the requests' })
    const show = page.getByRole('button', { name: 'Requests', expanded: false })
    const focused = () => page.evaluate<string>('document.activeElement.outerHTML')

    for (let round = 0; round < 2; round += 1) {
      await hide.press('Enter')
      await show.waitFor()
      await until(focused, (html) => html.includes('>Requests<'))
      await show.press('Enter')
      await hide.waitFor()
      await until(focused, (html) => html.includes('"Hide the requests"'))
    }
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

  test('the error page of a proxy is not shown as the words of the service', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('payments')))
    const body = '<html><body><h1>502 Bad Gateway</h1></body></html>'
    await page.route('**/api/payments?*', (route) =>
      route.fulfill({ status: 502, contentType: 'text/html', body }),
    )

    await goTo(page, 'payments')

    await page.locator('.main').getByText('The service could not be reached').waitFor()
    assert.equal(await page.locator('.main').getByText('Bad Gateway').count(), 0)
  })

  for (const [service, path, list] of [
    ['payments', 'payments', '**/api/payments?*'],
    ['storage-key', '', '**/file/list'],
    ['storage-full', '', '**/file/search?*'],
  ] as const)
    test(`the login page of a network, answered to a list of ${service}, is not taken for the list`, async (t) => {
      const page = await openConsole(t, browser, consoleOf(suite.urlOf(service), 'elsewhere'))
      const body = '<html><body><h1>Welcome to our Wi-Fi</h1></body></html>'
      await page.route(list, (route) => route.fulfill({ contentType: 'text/html', body }))
      if (service === 'storage-full') await signIn(page, 'user')

      await goTo(page, path)

      await page.locator('.main').getByText('The service could not be reached').waitFor()
    })

  test('a name that would reverse its letters is shown letter by letter', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('storage-full')))
    await signIn(page, 'user')
    await goTo(page, '')
    const name = 'picture-\u202egnp.txt'
    const shown = 'picture-\\u202egnp.txt'

    await page.getByLabel('Files to upload').setInputFiles(textFile(name, 'Not a picture.'))

    const link = page.getByRole('link', { name: shown })
    await link.waitFor()
    await page.getByRole('button', { name: `Delete ${shown}` }).waitFor()
    await showRequests(page, PHONE)
    await page.locator('.exchange-list button', { hasText: 'POST/file' }).first().click()
    await page.locator('.inspector').getByText(shown).first().waitFor()
    assert.doesNotMatch(await page.locator('body').innerText(), /\u202e/)
    await page.keyboard.press('Escape')
    await link.click()
    await page.getByRole('heading', { level: 1, name: shown }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    assert.match(download.suggestedFilename(), /^picture-.gnp\.txt$/)
  })

  for (const [service, path, calls, label] of [
    // Each reply, also to the card below the list, shows that the service answers.
    ['identity', 'users', /\/api\/(users\?|registration)/, 'Search users'],
    ['identity', 'audit', '**/api/audit?*', 'Filter the audit'],
    ['payments', 'payments', '**/api/payments?*', 'Find a payment'],
    ['payments', 'customers', '**/api/customers', 'Find a customer'],
  ] as const)
    test(`${path} of ${service}: the same search asks the service again`, async (t) => {
      const page = await openConsole(t, browser, consoleOf(suite.urlOf(service)))
      if (service === 'identity') await signIn(page, 'admin')
      await page.route(calls, (route) => route.abort())
      await goTo(page, path)
      await page.getByText('The service does not answer.').waitFor()
      await page.unroute(calls)

      await page
        .getByRole('form', { name: label })
        .getByRole('button', { name: /^(Search|Filter|Find)$/ })
        .click()

      await page.getByText('The service does not answer.').waitFor({ state: 'detached' })
      await page.locator('.main table, .main .empty').first().waitFor()
    })

  test('Escape closes whatever covers the page', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')))
    const panel = page.locator('.inspector')
    const passkeys = page.getByRole('navigation', { name: 'Pages' }).getByText('Passkeys')
    await page.getByRole('button', { name: /^Search/ }).click()
    await page.getByRole('dialog', { name: 'Search' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Search' }).waitFor({ state: 'hidden' })

    // On a phone the page list and the requests cover it, too.
    await showRequests(page, PHONE)
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'hidden' })
    await onlyAt(page, PHONE, () => page.getByRole('button', { name: 'Pages' }).click())
    await passkeys.waitFor()
    await page.keyboard.press('Escape')
    await passkeys.waitFor({ state: 'hidden' })

    await page.setViewportSize(WIDE)
    await passkeys.waitFor()
    await panel.waitFor()
  })

  test('the landing page does not call a service healthy that it cannot reach', async (t) => {
    const page = await openConsole(t, browser, suite.landingUrl)
    await page.getByRole('heading', { name: 'Everything is running.' }).waitFor()

    await page.route('**/api/services', (route) => route.abort())

    await page.getByRole('heading', { name: 'No answer.' }).waitFor()
    assert.equal(await page.getByText('healthy', { exact: true }).count(), 0)
    assert.equal(await page.getByText('unknown', { exact: true }).count(), 5)
  })

  /** More than one page of payments, and below of files. A second call changes nothing. */
  async function haveManyPayments(): Promise<void> {
    const payments = paymentsClient(suite.urlOf('payments'))
    await Promise.all(
      Array.from({ length: 21 }, (_, index) =>
        payments.checkouts.create({
          ...{ amount: 1000, currency: 'EUR', description: 'One chair' },
          ...{ businessReference: `many-${index}`, attemptReference: 'attempt-1' },
        }),
      ),
    )
  }

  async function haveManyFiles(): Promise<void> {
    const storage = storageClient(suite.urlOf('storage-full'))
    await storage.logIn('user', 'password123123')
    const missing = 49 - (await storage.files.list({ size: 100 })).length
    for (let index = 0; index < missing; index += 1)
      await storage.files.upload(
        new Blob([`note ${index}`], { type: 'text/plain' }),
        `note-${index}.txt`,
      )
  }

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

describe('in production', { skip }, () => {
  const shared = suiteCleanup()
  const DEMO_TEXTS = /demo|password123123|sandbox|development/i
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    const key = randomBytes(32).toString('base64')
    suite = await startSuite(shared, {
      NODE_ENV: 'production',
      IDENTITY_MASTER_KEY: key,
      STORAGE_FULL_MASTER_KEY: key,
      STORAGE_KEY_API_KEY: 'a key of our own, long enough',
      PAYMENTS_ACCESS: 'keys',
      PAYMENTS_CONSOLE: 'true',
      IDENTITY_REGISTRATION: 'closed',
    })
  })

  const demoTextsIn = (page: Page) => page.locator('body').getByText(DEMO_TEXTS).allInnerTexts()

  test('no console offers a demo account or a closed registration', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity'), 'session'))
    await page.getByRole('form', { name: 'Sign in' }).waitFor()
    await page.getByRole('form', { name: 'Register' }).waitFor({ state: 'detached' })
    assert.deepEqual(await demoTextsIn(page), [])
    assert.equal(await page.getByRole('button', { name: 'Sign in as user' }).count(), 0)
    await goTo(page, '')
    await page.getByRole('link', { name: 'Sign in' }).first().waitFor()
    assert.deepEqual(await demoTextsIn(page), [])

    const files = await openConsole(t, browser, consoleOf(suite.urlOf('storage-full')))
    await files.getByRole('form', { name: 'Sign in' }).waitFor()
    assert.deepEqual(await demoTextsIn(files), [])
    const payments = await openConsole(t, browser, consoleOf(suite.urlOf('payments')))
    await payments.getByRole('heading', { name: 'What works now' }).waitFor()
    assert.equal(await payments.getByText('Try it').count(), 0)
    assert.deepEqual(await demoTextsIn(payments), [])
  })

  test('the landing page offers nothing to try', async (t) => {
    const page = await openConsole(t, browser, suite.landingUrl)
    await page.getByRole('heading', { name: 'Everything is running.' }).waitFor()

    assert.equal(await page.getByText('Three things to try first').count(), 0)
    assert.deepEqual(await demoTextsIn(page), [])
  })
})
