import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { accessibilityFaults } from '../consoles/accessibility.ts'
import { textFile } from '../consoles/sample-files.ts'
import { collectTokens, findTokens } from '../consoles/token-probe.ts'
import { consoleOf } from '../consoles/watched-page.ts'
import { startSuite } from '../stack.ts'
import { openVisitor, register, signIn } from './application.ts'

const skip = await browserSkip()
const ADMIN = { username: 'admin', password: 'password123123' }

describe('the consoles are clients of identity', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared, { PAYMENTS_ACCESS: 'issuer' })
  })

  const withPlinth = (page: Page) =>
    page.getByRole('button', { name: 'Sign in with Plinth' }).click()
  const isSignedIn = (page: Page, name: string) =>
    page.locator('.session-bar', { hasText: name }).waitFor()
  const workers = async (page: Page) => {
    const session = await page.context().newCDPSession(page)
    const { targetInfos } = await session.send('Target.getTargets')
    return targetInfos.filter(({ type }) => /worker/.test(type)).map(({ url }) => url)
  }

  test('a sign-in at one opens the others without a page, and all of them after a reload', async (t) => {
    const identity = await openVisitor(t, browser)
    const tokens = [collectTokens(identity)]
    await identity.goto(consoleOf(suite.urlOf('identity'), 'session'))
    assert.deepEqual(await accessibilityFaults(identity), [])
    await withPlinth(identity)
    await identity.getByRole('heading', { name: 'Sign in' }).waitFor()
    await signIn(identity, ADMIN)
    await isSignedIn(identity, 'admin')
    assert.equal(identity.url(), consoleOf(suite.urlOf('identity'), 'session'))

    const consoles: [name: string, page: string, shows: RegExp][] = [
      ['storage-full', '', /No files yet/],
      ['payments', 'access', /Signed in as admin/],
    ]
    const pages = [identity]
    for (const [name, place, shows] of consoles) {
      const page = await identity.context().newPage()
      tokens.push(collectTokens(page))
      pages.push(page)
      await page.goto(consoleOf(suite.urlOf(name), place))
      await withPlinth(page)
      await page.getByText(shows).first().waitFor()
      assert.equal(page.url(), consoleOf(suite.urlOf(name), place))
    }
    for (const page of pages) await page.reload()
    await isSignedIn(identity, 'admin')
    for (const [index, [, , shows]] of consoles.entries())
      await pages[index + 1]?.getByText(shows).first().waitFor()

    const known = (await Promise.all(tokens.map((collected) => collected(4)))).flat()
    for (const page of pages) {
      assert.deepEqual(await findTokens(page, known), [])
      assert.deepEqual(await workers(page), [])
      assert.doesNotMatch(page.url(), /code=|state=/)
    }
  })

  test('a user of the issuer does not get the uploads of a local user with the same id', async (t) => {
    const page = await openVisitor(t, browser)
    await page.goto(consoleOf(suite.urlOf('storage-full'), 'session'))
    await page.getByRole('button', { name: 'Sign in as admin' }).first().click()
    await isSignedIn(page, 'admin')
    await page.evaluate("location.hash = '#/'")
    await page.route('**/file', (route) => route.abort())
    await page
      .getByLabel('Files to upload')
      .setInputFiles(textFile('local.txt', 'of the local one'))
    const uploads = page.locator('.uploads li')
    await uploads.getByText('refused', { exact: true }).waitFor()

    await page.reload()
    await page.unroute('**/file')
    await withPlinth(page)
    await signIn(page, ADMIN)
    await isSignedIn(page, 'admin')
    await page.getByText('No files yet').waitFor()
    await page.getByLabel('Files to upload').setInputFiles(textFile('own.txt', 'of the other'))
    await page.locator('.file-grid li', { hasText: 'own.txt' }).waitFor()

    assert.equal(await uploads.count(), 1)
    assert.equal(await page.getByText('local.txt').count(), 0)
  })

  test('a console at the address of the suite signs in, too', async (t) => {
    const page = await openVisitor(t, browser)
    await page.goto(consoleOf(`${suite.landingUrl}/storage`))
    await withPlinth(page)
    await signIn(page, await register(suite.urlOf('identity'), 'suiteuser'))

    await isSignedIn(page, 'suiteuser')

    assert.equal(page.url(), consoleOf(`${suite.landingUrl}/storage`))
    await page.goto(consoleOf(`${suite.landingUrl}/identity`, 'session'))
    await withPlinth(page)
    await isSignedIn(page, 'suiteuser')
  })

  test('after the session of the browser has ended, a reload shows the form, once', async (t) => {
    const page = await openVisitor(t, browser)
    await page.goto(consoleOf(suite.urlOf('identity'), 'session'))
    await withPlinth(page)
    await signIn(page, await register(suite.urlOf('identity'), 'ended'))
    await isSignedIn(page, 'ended')

    await page.context().clearCookies()
    const visited: string[] = []
    page.on('framenavigated', (frame) => visited.push(new URL(frame.url()).pathname))
    await page.reload()
    await page.getByText('Not signed in.').waitFor()
    await page.reload()
    await page.getByText('Not signed in.').waitFor()

    assert.ok(visited.length <= 4, visited.join())
    assert.equal(page.url(), consoleOf(suite.urlOf('identity'), 'session'))
  })

  test('a sign-out at one console signs out of the others, at other addresses, too', async (t) => {
    const user = await register(suite.urlOf('identity'), 'leaving')
    const storage = await openVisitor(t, browser)
    await storage.goto(consoleOf(suite.urlOf('storage-full'), 'session'))
    await withPlinth(storage)
    await signIn(storage, user)
    await isSignedIn(storage, user.username)
    const identity = await storage.context().newPage()
    await identity.goto(consoleOf(suite.urlOf('identity'), 'session'))
    await withPlinth(identity)
    await isSignedIn(identity, user.username)

    await storage.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await storage.getByText('Not signed in.').waitFor()
    assert.equal(new URL(storage.url()).origin, new URL(suite.urlOf('storage-full')).origin)
    // As the browser does when the user comes back to the tab.
    await identity.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)

    await identity.getByText('Not signed in.').waitFor()
    for (const page of [storage, identity]) {
      await page.reload()
      await page.getByText('Not signed in.').waitFor()
    }
    await withPlinth(identity)
    await identity.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  test('a visitor who cancels is back at the console', async (t) => {
    const page = await openVisitor(t, browser)
    await page.goto(consoleOf(suite.urlOf('identity'), 'session'))
    await withPlinth(page)
    await page.getByRole('button', { name: 'Cancel' }).click()

    await page.getByText('Not signed in.').waitFor()

    assert.equal(await page.locator('.notice.bad').count(), 0)
  })

  test('the own form of the identity console gives a pair and no cookie: a reload ends it', async (t) => {
    const page = await openVisitor(t, browser)
    await page.goto(consoleOf(suite.urlOf('identity'), 'session'))
    await page.getByRole('button', { name: 'Sign in as user' }).first().click()
    await isSignedIn(page, 'user')
    assert.deepEqual(await page.context().cookies(), [])

    await page.reload()

    await page.getByText('Not signed in.').waitFor()
  })

  test('an answer that the console has not asked for is ignored', async (t) => {
    const page = await openVisitor(t, browser)

    await page.goto(`${suite.urlOf('identity')}/api-test/index.html?code=stolen&state=other`)

    await page.getByText('Not signed in.').waitFor()
    assert.doesNotMatch(page.url(), /stolen/)
  })
})
