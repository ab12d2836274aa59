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
    suite = await startSuite(shared, { PAYMENTS_ACCESS: 'issuer' })
  })

  test('survives a reload, in memory only', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')))
    const tokens = collectTokens(page)
    await signIn(page, 'user')

    await page.reload()

    await signedInAs(page, 'user')
    assert.deepEqual(await findTokens(page, await tokens(2)), [])
  })

  test('needs one Trusted Types policy, and the page refuses a second', async (t) => {
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
    await signIn(page, 'user')
    await signedInAs(other, 'user')

    assert.equal(await refreshTogether(page, other), 1)

    await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await other.getByText('Not signed in.').waitFor()
  })

  test('ends with the last tab', async (t) => {
    const context = await browser.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    await page.goto(consoleOf(suite.urlOf('identity')))
    await signIn(page, 'user')
    const handing = await browser.newContext()
    t.after(() => handing.close())
    await handing.addInitScript(WITHOUT_LONG_LIFE)
    const leaving = await handing.newPage()
    await leaving.goto(consoleOf(suite.urlOf('identity')))
    await signIn(leaving, 'user')
    const empty = await handing.newPage()
    await empty.goto(`${suite.urlOf('identity')}/api-test/facts.json`)
    const targets = await browser.newBrowserCDPSession()
    const workers = async () =>
      (await targets.send('Target.getTargets')).targetInfos.filter(
        ({ type }) => type === 'shared_worker',
      ).length
    assert.equal(await workers(), 2)

    const next = await context.newPage()
    await leaving.goto('about:blank')
    await page.close()
    await until(workers, (count) => count === 0)
    await next.goto(consoleOf(suite.urlOf('identity')))
    await empty.goto(consoleOf(suite.urlOf('identity')))

    await next.getByText('Not signed in.').waitFor()
    await empty.getByText('Not signed in.').waitFor()
  })

  test('survives a reload and a change of console in browsers whose workers end with the last tab', async (t) => {
    const page = await openConsole(t, browser, `${suite.landingUrl}/`)
    await page.addInitScript(WITHOUT_LONG_LIFE)
    await page.goto(consoleOf(`${suite.landingUrl}/identity`))
    const tokens = collectTokens(page)
    const ready = () => page.evaluate('navigator.serviceWorker.ready.then(() => {})')
    await ready()
    await signIn(page, 'user')

    for (let reloads = 0; reloads < 2; reloads += 1) {
      await page.reload()
      await signedInAs(page, 'user')
    }
    const scope = `${suite.landingUrl}/identity/api-test/`
    assert.deepEqual(await findTokens(page, await tokens(2)), [scope])
    await page.goto(consoleOf(`${suite.landingUrl}/storage`))
    await page.getByRole('button', { name: 'Continue as user' }).click()
    await page.getByText('No files yet').waitFor()
    await ready()
    await page.reload()
    await page.getByText('No files yet').waitFor()

    await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await page.getByText('Not signed in.').waitFor()
    await page.reload()
    await page.getByText('Not signed in.').waitFor()
  })

  for (const [device, viewport] of Object.entries(WIDTHS))
    test(`at identity can be used at storage on the same origin, on a ${device}`, async (t) => {
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
      await page.getByText('Your account belongs to Identity').waitFor()
      assert.deepEqual(await accessibilityFaults(page), [])

      await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
      await page.getByText('Not signed in.').waitFor()
      await page.goto(consoleOf(`${suite.landingUrl}/identity`))
      await page.getByText('Not signed in.').waitFor()
    })

  test('as an administrator works for storage on the same origin', async (t) => {
    const page = await openConsole(t, browser, consoleOf(`${suite.landingUrl}/identity`))
    await signIn(page, 'admin')
    await page.goto(consoleOf(`${suite.landingUrl}/storage`, 'users'))
    await page.getByRole('button', { name: 'Continue as admin' }).click()

    await page.getByRole('button', { name: 'Manage user', exact: true }).click()
    await page.getByLabel('Reason').fill('left the company')
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Yes' }).click()
    await page.getByText('user is a user and cannot sign in.').waitFor()
    await page.getByText('Those of Identity are managed there').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('button', { name: 'Yes' }).click()
    await page.getByText('user is a user and may sign in.').waitFor()
    await goTo(page, 'audit')

    await page.getByRole('row', { name: /USER_DISABLED.*admin.*user/ }).waitFor()
  })

  test('is offered on every page over one connection to the other console', async (t) => {
    const page = await openConsole(t, browser, consoleOf(`${suite.landingUrl}/storage`))
    const offer = page.getByText('Identity accounts work here, too').first()

    for (const path of ['users', 'audit', 'users', 'audit']) {
      await goTo(page, path)
      await offer.waitFor()
    }

    const locks = await page.evaluate<string[]>(
      `navigator.locks.query().then(({ held }) => held.map(({ name }) => name))`,
    )
    assert.equal(locks.filter((name) => name.includes('/identity/')).length, 1, locks.join('\n'))
  })

  test('works for payments on the same origin, in every tab and after a reload, until it ends', async (t) => {
    const address = consoleOf(`${suite.landingUrl}/payments`, 'payments')
    const page = await openConsole(t, browser, address)
    const tokens = collectTokens(page)
    await page.getByText('This service accepts Identity accounts: sign in there').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await goTo(page, 'access')
    await page.getByRole('heading', { name: 'Use a token or a key' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    assert.equal(await page.getByRole('alert').filter({ hasText: 'token' }).count(), 0)
    await page.getByRole('link', { name: 'sign in there' }).click()
    await signIn(page, 'admin')
    await page.goto(address)

    await page.getByRole('button', { name: 'Continue as admin' }).click()
    await page.getByText('No payments').waitFor()
    await signedInAs(page, 'admin')
    await page.reload()
    await page.getByText('No payments').waitFor()
    assert.deepEqual(await findTokens(page, await tokens(2)), [])
    await goTo(page, 'access')
    await page.getByText('There are no keys yet.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])

    const other = await page.context().newPage()
    await other.goto(address)
    await signedInAs(other, 'admin')
    assert.equal(await refreshTogether(page, other), 1)
    await other.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await goTo(page, 'payments')
    await page.getByText('Sign in first').waitFor()
    await page.goto(consoleOf(`${suite.landingUrl}/identity`))
    await page.getByText('Not signed in.').waitFor()
  })

  test('is explained at a port: which accounts are accepted, and where one sign-in works', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('storage-full')))

    await page.getByText('Identity accounts work here, too').waitFor()

    const home = page.getByRole('link', { name: 'all services' }).last()
    assert.equal(await home.getAttribute('href'), `${suite.landingUrl}/`)
  })

  test('does not reach payments at a port, which accepts a token and stores it nowhere', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('payments'), 'payments'))
    await page.getByText('This service accepts Identity accounts: open this console').waitFor()
    const reply = await fetch(`${suite.urlOf('identity')}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'admin', password: 'password123123' }),
    })
    const { accessToken: token } = (await reply.json()) as { accessToken: string }

    await page.getByRole('link', { name: 'Use a token or a key' }).click()
    await page.getByLabel('Access token or service key').fill('of yesterday')
    await page.getByRole('button', { name: 'Use it' }).click()
    await page.getByText('It may have expired: use a fresh one.').waitFor()
    assert.equal(await page.locator('.notice.bad').count(), 1, 'said once')
    await page.getByLabel('Access token or service key').fill(token)
    await page.getByRole('button', { name: 'Use it' }).click()
    await page.getByText('The service accepts it.').waitFor()
    assert.deepEqual(await findTokens(page, [token]), [])
    await page.getByRole('link', { name: 'See the payments' }).click()
    await page.getByText('No payments').waitFor()

    const facts = { access: 'issuer', issuer: 'https://id.example', suite: null }
    await page.route('**/facts.json', (route) => route.fulfill({ json: facts }))
    await page.reload()
    await page.getByText('accepts Identity accounts, at https://id.example.').waitFor()
  })
})

/** How many refreshes two tabs send when both are asked for one at the same time. */
async function refreshTogether(page: Page, other: Page): Promise<number> {
  const { promise: bothAsked, resolve: letGo } = Promise.withResolvers<void>()
  let refreshes = 0
  await page.context().route('**/api/auth/refresh', async (route) => {
    refreshes += 1
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
  return refreshes
}

/** As in Firefox and Safari: a shared worker does not outlive the pages that use it. */
const WITHOUT_LONG_LIFE = `{
  const { SharedWorker } = globalThis
  globalThis.SharedWorker = class extends SharedWorker {
    constructor(address) {
      super(address)
    }
  }
}`

/** How many pages are refreshing or waiting for their turn. */
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
