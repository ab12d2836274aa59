import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { identityClient, paymentsClient, storageClient } from '@plinth/client'
import type { Browser, Page } from 'playwright-core'
import { freePorts } from '../test/servers/free-ports.ts'
import { proxyMissing, startProxy } from '../test/servers/proxy.ts'
import { suiteCleanup } from '../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from './browser.ts'
import { accessibilityFaults } from './consoles/accessibility.ts'
import { addVirtualAuthenticator } from './consoles/virtual-authenticator.ts'
import { consoleOf, goTo, openConsole, signIn } from './consoles/watched-page.ts'
import { startSuite } from './stack.ts'

const skip = await browserSkip()
const PASSWORD = 'password123123'
const WIDTHS = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }

type Suite = Awaited<ReturnType<typeof startSuite>>

describe('all consoles at one address', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Suite

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared)
  })

  for (const [device, viewport] of Object.entries(WIDTHS))
    test(`the switcher leads from console to console on a ${device}`, async (t) => {
      const page = await openConsole(t, browser, suite.landingUrl, { viewport })
      await page.getByRole('link', { name: 'Open Identity' }).click()

      for (const service of ['Storage, full edition', 'Payments', 'Sandbox provider']) {
        await page.getByRole('button', { name: 'Services' }).click()
        assert.deepEqual(await accessibilityFaults(page), [])
        await page.getByRole('navigation', { name: 'Services' }).getByText(service).click()
        await page.getByRole('button', { name: 'Services' }).waitFor()
      }
      assert.equal(page.url(), `${suite.landingUrl}/sandbox/sandbox/`)

      await page.getByRole('button', { name: 'Services' }).click()
      await page.keyboard.press('Escape')
      await page.getByRole('navigation', { name: 'Services' }).waitFor({ state: 'hidden' })
    })

  test('a passkey created at a port works at the address of the suite', async (t) => {
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(consoleOf(suite.urlOf('identity')))
    await addVirtualAuthenticator(page)
    await addPasskey(page)
    const { origin } = new URL(page.url())

    await page.goto(consoleOf(`${suite.landingUrl}/identity`, 'passkeys'))
    await page.getByRole('button', { name: 'Use a passkey' }).click()

    await page.getByText('signed in as user', { exact: true }).waitFor()
    assert.notEqual(new URL(page.url()).origin, origin)
  })
})

describe('the suite behind one line of a proxy', { skip: await proxyMissing('caddy') }, () => {
  const shared = suiteCleanup()
  let suite: Suite
  let address: string

  before(async () => {
    const [port = 0] = await freePorts(1)
    address = `http://localhost:${port}`
    suite = await startSuite(shared, {
      SUITE_PUBLIC_URL: address,
      SUITE_TRUSTED_PROXIES: 'loopback',
    })
    const routes: [string, string][] = [['', suite.landingUrl]]
    await startProxy(shared, { program: 'caddy', port, strips: false, routes })
  })

  test('every public URL follows the address of the proxy', async () => {
    const identity = identityClient(`${address}/identity`)
    const { accessToken } = await identity.logIn('user', PASSWORD)
    const claims = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())
    const storage = storageClient(`${address}/storage`)
    await storage.logIn('user', PASSWORD)

    const file = await storage.files.upload(
      new Blob(['%PDF-1.4\n%%EOF\n'], { type: 'application/pdf' }),
      'paper.pdf',
    )
    const link = await storage.links.create(file.id, 60)
    const checkout = await paymentsClient(`${address}/payments`).checkouts.create({
      amount: 2500,
      currency: 'EUR',
      description: 'A book',
      businessReference: 'order-1',
      attemptReference: 'first',
    })

    assert.equal(claims.iss, `${address}/identity`)
    assert.ok(link.url.startsWith(`${address}/storage/file/presigned/`))
    assert.equal((await fetch(link.url)).status, 200)
    assert.ok(checkout.checkoutUrl.startsWith(`${address}/sandbox/pay/`))
    assert.equal((await fetch(checkout.checkoutUrl)).status, 200)
  })

  test('a passkey works', { skip }, async (t) => {
    const browser = await openBrowser(t)
    const page = await openConsole(t, browser, consoleOf(`${address}/identity`))
    await addVirtualAuthenticator(page)

    await addPasskey(page)

    assert.deepEqual(await accessibilityFaults(page), [])
  })
})

async function addPasskey(page: Page): Promise<void> {
  await signIn(page, 'user')
  await goTo(page, 'passkeys')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('can now sign you in').waitFor()
}
