import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { PHONE } from './both-widths.ts'
import { openConsole } from './watched-page.ts'

const skip = await browserSkip()
const SERVICES = ['identity', 'storage-full', 'storage-key', 'payments']

describe('the API reference', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let urlOf: (service: string) => string
  const pageOf = (service: string, operation = '') =>
    `${urlOf(service)}/reference/index.html${operation && `#${operation}`}`

  before(async () => {
    browser = await openBrowser(shared)
    urlOf = (await startSuite(shared)).urlOf
  })

  for (const service of SERVICES)
    test(`${service}: shows every operation and event of the document without axe violations`, async (t) => {
      const page = await openConsole(t, browser, pageOf(service), { colorScheme: 'light' })
      await page.getByRole('heading', { level: 1 }).waitFor()

      const listed = await page.locator('section.operation').count()
      const reply = await fetch(`${urlOf(service)}/openapi.json`)
      type Described = Record<string, object>
      const { paths, webhooks = {} } = (await reply.json()) as Record<string, Described>

      const described = Object.values({ ...paths, ...webhooks })
      const methods = described.flatMap((path) => Object.keys(path))
      assert.equal(listed, methods.length)
      assert.deepEqual(await accessibilityFaults(page, { rules: 'all but colours' }), [])
      await page.setViewportSize(PHONE)
      assert.ok(await isInView(page, 'h1'), 'the list of operations leaves room on a phone')
    })

  test('is searched with the keys of the consoles', async (t) => {
    const page = await openConsole(t, browser, pageOf('payments'))
    await page.getByRole('heading', { level: 1 }).waitFor()

    await page.keyboard.press('Control+k')
    await page.keyboard.type('refund what')

    await page.getByText(/^1 of \d+ operations and events$/).waitFor()
    await page.locator('#refund').waitFor()
  })

  // Operations differ in their texts, not in their colours, so checking a few is enough.
  test('the colours of both themes have enough contrast', async (t) => {
    const page = await openConsole(t, browser, pageOf('identity'), { colorScheme: 'light' })
    await page.getByRole('button', { name: 'Sign in as admin' }).waitFor()
    await page.getByRole('textbox', { name: 'Search' }).fill('LAST_ADMINISTRATOR')
    await page.getByText(/^\d of \d+ operations and events$/).waitFor()
    await page.getByRole('button', { name: 'Try it' }).first().click()

    const faults = await accessibilityFaults(page, { rules: 'colours' })
    await page.emulateMedia({ colorScheme: 'dark' })
    faults.push(...(await accessibilityFaults(page, { rules: 'colours' })))

    assert.deepEqual(faults, [])
  })

  test('a URL with an operation leads to it, and a search leaves only matches', async (t) => {
    const page = await openConsole(t, browser, pageOf('identity', 'changePassword'))
    const target = page.locator('#changePassword')
    await target.waitFor()

    assert.ok(await isInView(page, '#changePassword'))
    await page.getByRole('textbox', { name: 'Search' }).fill('LAST_SIGN_IN_METHOD')

    await page.getByText(/^1 of \d+ operations and events$/).waitFor()
    assert.equal(await page.locator('section.operation').count(), 1)
    assert.equal(await page.locator('#unlinkIdentity').count(), 1)
  })

  test('Back leaves a reference that was opened at an operation', async (t) => {
    const page = await openConsole(t, browser, pageOf('identity', 'changePassword'))
    await page.locator('#changePassword').waitFor()
    await until(
      () => isInView(page, '#changePassword'),
      (isThere) => isThere,
    )

    await page.goBack()

    assert.equal(page.url(), 'about:blank')
  })

  test('explains what is wrong with a body, and sends only JSON', async (t) => {
    const page = await openConsole(t, browser, pageOf('identity'))
    const logIn = page.locator('#logIn')
    await logIn.getByRole('button', { name: 'Try it' }).click()

    await logIn.getByRole('textbox', { name: 'Body' }).fill('{"username": ')
    await logIn.getByText(/^The body is not JSON/).waitFor()
    await logIn
      .getByRole('textbox', { name: 'Body' })
      .fill('{"username": "admin", "password": "wrong"}')
    await logIn.getByRole('button', { name: /^Send/ }).click()

    await logIn
      .getByRole('region', { name: 'Reply', exact: true })
      .locator('.badge', { hasText: '401' })
      .waitFor()
    assert.match(await logIn.getByLabel('Body of the reply').innerText(), /INVALID_CREDENTIALS/)
  })

  test('copies a request as curl and as client code, with placeholders for secrets', async (t) => {
    const page = await openConsole(t, browser, pageOf('payments'))
    const checkOut = page.locator('#checkOut')
    await checkOut.getByRole('button', { name: 'Try it' }).click()

    await checkOut.getByRole('button', { name: 'Copy as curl' }).click()
    const curl = await clipboardOf(page)
    await checkOut.getByRole('button', { name: 'Copy as client code' }).click()
    const code = await clipboardOf(page)

    assert.match(curl, /^UNIQUE=.+ && \\\ncurl -X POST '.+\/api\/checkout\/sessions'/)
    assert.match(curl, /-d '\{"amount":4900,"currency":"eur"/)
    assert.match(code, /import \{ paymentsClient \} from '@plinth\/client'/)
    assert.match(code, /await client\.checkouts\.create\(\{\n {2}amount: 4900,/)
    assert.match(code, /businessReference: `order-\$\{UNIQUE\}`/)
  })

  test('the key edition accepts its key and shows a key of your own in no copied code', async (t) => {
    const page = await openConsole(t, browser, pageOf('storage-key'))
    const key = page.getByLabel('Key for X-API-KEY')
    await key.fill('storage-local-dev-key')
    const list = page.locator('#list')
    await list.getByRole('button', { name: 'Try it' }).click()
    await list.getByRole('button', { name: /^Send/ }).click()
    await list.getByText('200', { exact: true }).first().waitFor()
    await list.getByRole('button', { name: 'Copy as curl' }).click()
    const withPublicKey = await clipboardOf(page)

    await key.fill('a-key-of-my-own')
    await list.getByRole('button', { name: 'Copy as curl' }).click()
    const command = await clipboardOf(page)
    await list.getByRole('button', { name: 'Copy as client code' }).click()
    const code = await clipboardOf(page)

    assert.equal(await runWith('', withPublicKey), '[]')
    for (const copy of [command, code]) assert.doesNotMatch(copy, /a-key-of-my-own/)
    assert.equal(await runWith('storage-local-dev-key', command), 'API_KEY: []')
    assert.match(code, /^const API_KEY = await terminal.question\('API_KEY: '\)$/m)
  })

  test('copied code signs in by itself, and an upload names its file', async (t) => {
    const page = await openConsole(t, browser, pageOf('storage-full'))
    await page.getByRole('button', { name: 'Sign in as user' }).click()
    await page.getByText('Signed in').waitFor()
    const files = page.locator('#files')
    await files.getByRole('button', { name: 'Try it' }).click()
    await files.getByRole('button', { name: 'Copy as curl' }).click()
    const command = await clipboardOf(page)
    const upload = page.locator('#upload')
    await upload.getByRole('button', { name: 'Try it' }).click()
    await upload.getByText('Copied code sends a small picture.png').waitFor()
    await upload.getByRole('button', { name: 'Copy as client code' }).click()
    const code = await clipboardOf(page)

    assert.equal(await runWith('', command), '[]')
    assert.match(code, /^const USERNAME = 'user'\nconst PASSWORD = '.+'\n/m)
    assert.match(code, /^await client\.logIn\(USERNAME, PASSWORD\)\nconst file = new Blob/m)
    assert.match(code, /^const reply = await client\.files\.upload\(file, 'picture\.png'\)$/m)
  })

  test('sends a form and reads a stream until it is stopped', async (t) => {
    const identity = await openConsole(t, browser, pageOf('identity'))
    const revoke = identity.locator('#revoke')
    await revoke.getByRole('button', { name: 'Try it' }).click()
    await revoke.getByRole('button', { name: /^Send/ }).click()
    await revoke.getByText('200', { exact: true }).first().waitFor()
    await revoke.getByRole('button', { name: 'Copy as curl' }).click()
    const command = await clipboardOf(identity)
    const page = await openConsole(t, browser, pageOf('payments'))
    const stream = page.locator('#eventStream')
    await stream.getByRole('button', { name: 'Try it' }).click()
    await stream.getByRole('button', { name: /^Send/ }).click()
    await stream.getByText('events follow').waitFor()

    await stream.getByRole('button', { name: /^Stop/ }).click()

    await stream.getByText('Ended.').waitFor()
    await stream.getByRole('button', { name: /^Send/ }).waitFor()
    assert.match(command, /--data-urlencode 'token='"\$ACCESS_TOKEN"''/)
    assert.equal(await page.locator('#onPaymentPaid').getByRole('button').count(), 0)
    assert.match(await page.locator('#onPaymentPaid').innerText(), /webhook-signature/)
  })

  test('prints the operations without buttons', async (t) => {
    const page = await openConsole(t, browser, pageOf('storage-key'))
    await page.locator('#upload').waitFor()

    await page.emulateMedia({ media: 'print' })

    assert.equal(await page.getByRole('navigation').count(), 0)
    assert.equal(await page.getByRole('button').count(), 0)
    assert.ok(await page.locator('#upload').isVisible())
    assert.ok(await page.getByText('UNSUPPORTED_FILE_TYPE').first().isVisible())
  })
})

/** Runs a copied command unchanged and types `secret` when it asks for one. */
async function runWith(secret: string, command: string): Promise<string> {
  const running = promisify(execFile)('sh', ['-c', command])
  running.child.stdin?.end(`${secret}\n`)
  return (await running).stdout
}

async function clipboardOf(page: Page): Promise<string> {
  return page.evaluate('navigator.clipboard.readText()') as Promise<string>
}

async function isInView(page: Page, selector: string): Promise<boolean> {
  return page.evaluate(
    `(() => { const { top } = document.querySelector('${selector}').getBoundingClientRect()
      return top >= -2 && top < innerHeight })()`,
  ) as Promise<boolean>
}
