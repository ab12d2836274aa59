import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { changeDatabase } from '../second-connection.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults, listen } from './accessibility.ts'
import { authenticatorCode } from './authenticator-code.ts'
import { PHONE, WIDE } from './both-widths.ts'
import { logOutExpired } from './expired-session.ts'
import { collectTokens, findTokens } from './token-probe.ts'
import { addVirtualAuthenticator } from './virtual-authenticator.ts'
import {
  consoleOf,
  goTo,
  openConsole,
  showRequests,
  signIn,
  unfoldFilters,
} from './watched-page.ts'

const skip = await browserSkip()

/** Runs in the page: how much wider an element is than its container. */
const hiddenPixels = ({ scrollWidth, clientWidth }: { scrollWidth: number; clientWidth: number }) =>
  scrollWidth - clientWidth

describe('the identity console', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let address: string
  let database: string

  before(async () => {
    browser = await openBrowser(shared)
    const suite = await startSuite(shared, {}, ['identity'])
    address = consoleOf(suite.urlOf('identity'))
    database = join(suite.folder, 'identity.db')
  })

  test('refreshes, and shows the 401 of a used refresh token', async (t) => {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'user')
    await goTo(page, 'session')

    await page.getByRole('button', { name: 'Refresh now' }).click()
    await page.getByText('rotated once').waitFor()
    await page.getByRole('button', { name: 'Replay the used token' }).click()

    await page.getByText('Refused, as it should be.').waitFor()
    await page.getByRole('button', { name: 'Refresh now' }).click()
    await page.getByText('rotated 2 times').waitFor()
  })

  test('sends one refresh however many are requested at once', async (t) => {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'user')
    const refreshes: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/api/auth/refresh')) refreshes.push(request.url())
    })

    await page
      .getByRole('button', { name: 'Refresh', exact: true })
      .evaluate((button: { click(): void }) => {
        for (let click = 0; click < 3; click += 1) button.click()
      })

    await showRequests(page, PHONE)
    const row = page.locator('.exchange-list li', { hasText: '/api/auth/refresh' })
    await row.locator('.badge.good').waitFor()
    assert.equal(refreshes.length, 1)
  })

  test('logs out, and leaves no token in any storage, cookie or global', async (t) => {
    const page = await openConsole(t, browser, address)
    const tokens = collectTokens(page)
    await signIn(page, 'admin')
    await page.getByRole('button', { name: 'Refresh now' }).click()
    await page.getByText('rotated once').waitFor()

    assert.deepEqual(await findTokens(page, await tokens(4)), [])
    await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await page.getByText('Not signed in.').waitFor()

    await page.reload()
    await page.getByText('Not signed in.').waitFor()
  })

  test('logs out after the access token expired, and the session is over', async (t) => {
    await logOutExpired(await openConsole(t, browser, address), address)
  })

  test('registers, after showing every error at its field', async (t) => {
    const page = await openConsole(t, browser, consoleOf(new URL(address).origin, 'session'))
    const form = page.getByRole('form', { name: 'Register' })
    await form.getByLabel('Username').fill('grace')
    await form.getByLabel('E-mail').fill('not-an-address')
    await form.getByLabel('Password').fill('short')

    await form.getByRole('button', { name: 'Create account' }).click()
    await form.locator('.fault').nth(1).waitFor()
    assert.equal(await page.locator('.notice.bad').count(), 0, 'each error is said once')
    assert.deepEqual(await accessibilityFaults(page), [])
    await form.getByLabel('E-mail').fill('grace@example.com')
    await form.getByLabel('Password').fill('a long enough password')
    await form.getByRole('button', { name: 'Create account' }).click()

    await page.getByText('Signed in as grace.').waitFor()

    const mails = `${new URL(address).origin}/api/dev/mail?to=grace@example.com`
    const read = async () => (await (await fetch(mails)).json()) as { link: string }[]
    const [mail] = await until(read, ({ length }) => length > 0)
    await page.goto(mail?.link ?? '')
    await page.getByRole('button', { name: 'Confirm' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'I did not create it' }).count(), 0)
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('heading', { name: 'Your e-mail address is confirmed' }).waitFor()
  })

  test('adds a passkey step by step, signs in with it, and deletes it', async (t) => {
    const page = await openConsole(t, browser, address)
    await addVirtualAuthenticator(page)
    const tokens = collectTokens(page)
    await signIn(page, 'user')
    await goTo(page, 'passkeys')

    await page.getByLabel('Name').fill('Test device')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('“Test device” can now sign you in').waitFor()
    await page.getByText(/user was present, user was verified/).waitFor()
    await page.locator('.step.done').nth(4).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])

    await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByText('signed in as user', { exact: true }).waitFor()
    assert.deepEqual(await findTokens(page, await tokens(4)), [])

    await page.getByRole('button', { name: 'Remove Test device' }).click()
    await page.getByRole('button', { name: 'No Test device' }).press('Escape')
    await page.getByRole('button', { name: 'Remove Test device' }).click()
    await page.getByRole('button', { name: 'Yes Test device' }).click()
    await page.getByText('Nothing yet.').waitFor()
  })

  test('explains why the browser refused a second passkey', async (t) => {
    const page = await openConsole(t, browser, address)
    await addVirtualAuthenticator(page)
    await signIn(page, 'admin')
    await goTo(page, 'passkeys')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('can now sign you in').waitFor()

    await page.getByRole('button', { name: 'Add a passkey' }).click()

    await page.getByText('This authenticator already holds a passkey for this account.').waitFor()
    await page.locator('.step.failed', { hasText: 'Browser and authenticator' }).waitFor()
  })

  test('lists own sessions and ends another one', async (t) => {
    const page = await openConsole(t, browser, address)
    const { origin } = new URL(address)
    const like = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit'
    const agents = {
      'curl 8': 'curl/8.1',
      'Safari 26': `${like}/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15`,
      'Edge 142': `${like}/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0`,
    }
    for (const agent of Object.values(agents))
      await fetch(`${origin}/api/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': agent },
        body: JSON.stringify({ username: 'user', password: 'password123123' }),
      })
    await signIn(page, 'user')
    await goTo(page, 'profile')
    for (const name of Object.keys(agents)) await page.locator('tr', { hasText: name }).waitFor()
    const other = page.locator('tr', { hasText: 'curl 8' })

    const end = other.first().getByRole('button', { name: 'Sign out curl 8', exact: true })
    await end.click()
    await other.first().getByText('That device will have to sign in again.').waitFor()
    await page.locator('button:focus', { hasText: 'No' }).waitFor()
    await page.keyboard.press('Escape')
    await end.click()
    await other.getByRole('button', { name: 'Yes curl 8', exact: true }).click()

    await other.waitFor({ state: 'detached' })
    await page.getByText('this one').waitFor()
  })

  test('the last page of a list is shown again when the one after it is gone', async (t) => {
    const { origin } = new URL(address)
    const owner = { username: 'restless', password: 'a long enough password' }
    const post = (path: string, body: object) =>
      fetch(`${origin}/api/auth/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    await post('register', { ...owner, email: 'restless@example.com' })
    for (let sessions = 0; sessions < 25; sessions += 1) await post('login', owner)
    const page = await openConsole(t, browser, consoleOf(origin, 'session'))
    const form = page.getByRole('form', { name: 'Sign in' })
    await form.getByLabel('Username').fill(owner.username)
    await form.getByLabel('Password').fill(owner.password)
    await form.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Signed in as restless.').waitFor()
    await goTo(page, 'profile')
    const rows = page.getByRole('table', { name: 'Devices' }).locator('tbody tr')
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('Page 2 of 2').waitFor()
    assert.equal(await rows.count(), 1)

    await rows.getByRole('button', { name: /^Sign out/ }).click()
    await rows.getByRole('button', { name: /^Yes/ }).click()

    await rows.nth(24).waitFor()
  })

  test('an account that signs in after another sees nothing of the first', async (t) => {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'user')
    await goTo(page, 'profile')
    await page.getByRole('table', { name: 'Devices' }).waitFor()
    const asked = page.waitForRequest('**/api/users/me/sessions')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('sign in as admin')
    await page.keyboard.press('Enter')
    await page.getByText('admin@example.com').waitFor()
    await asked

    await goTo(page, 'events')
    const listed = page.locator('td a').first()
    const event = (await listed.getAttribute('href'))?.replace('#/', '') ?? ''
    await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await signIn(page, 'user')
    await goTo(page, event)
    await page.getByText('Sign in as an administrator to see events.').waitFor()
    await page.locator('main').getByRole('button', { name: 'Sign in as admin' }).click()

    await page.getByRole('button', { name: 'Copy the body' }).waitFor()
  })

  test('shows users and audit to an administrator and a reason to everyone else', async (t) => {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'user')
    await goTo(page, 'users')
    await page.getByText('Sign in as an administrator to see every account.').waitFor()
    await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()

    await signIn(page, 'admin')
    await goTo(page, 'users')
    const email = page.getByRole('cell', { name: 'user@example.com' }).locator('.cut')
    await email.waitFor()
    for (const size of [WIDE, PHONE]) {
      await page.setViewportSize(size)
      assert.equal(await email.evaluate(hiddenPixels), 0, `at ${size.width} px`)
    }
    await goTo(page, 'audit')

    await page.getByRole('row').nth(1).waitFor()
  })

  test('disables and enables an account, and gives and takes a role', async (t) => {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'admin')
    await goTo(page, 'users')
    const row = page.locator('tr', { hasText: 'user@example.com' })

    const confirm = async (name: string) => {
      await page.getByRole('button', { name, exact: true }).click()
      await page.getByRole('button', { name: 'Yes' }).click()
    }

    await row.getByRole('button', { name: 'Manage' }).click()
    const heard = await listen(page)
    await page.getByLabel('Reason').fill('asked for by phone')
    await confirm('Disable')
    await row.getByText('disabled').waitFor()
    await page.getByText('user is a user and cannot sign in.').waitFor()
    await heard('user is a user and cannot sign in.')
    const reset = page.getByRole('button', { name: 'Reset the password' })
    assert.equal(
      await reset.getAttribute('title'),
      'Enable the account first: a disabled one gets no mail.',
    )
    await confirm('Enable')
    await row.getByText('enabled').waitFor()
    await confirm('Make an administrator')
    await row.getByText('administrator', { exact: true }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await confirm('Remove administrator role')

    await page.getByText('user is a user and may sign in.').waitFor()
  })

  test('finds one account among many and acts on it with a reason that the audit shows', async (t) => {
    const { origin } = new URL(address)
    const long = 'a-name-of-fifty-characters-that-must-not-break-it-'
    const register = (username: string, email: string) =>
      fetch(`${origin}/api/auth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username, email, password: 'a long enough password' }),
      })
    for (let n = 0; n < 22; n += 1) await register(`crowd${100 + n}`, `crowd${n}@example.com`)
    await register(long, `${long}@example.com`)
    const page = await openConsole(t, browser, address)
    await signIn(page, 'admin')
    await goTo(page, 'users')
    const search = page.getByRole('form', { name: 'Search users' })
    const confirm = async (name: string) => {
      await page.getByRole('button', { name, exact: true }).click()
      await page.getByRole('button', { name: 'Yes' }).click()
    }

    await search.getByLabel('Name or e-mail').fill('CROWD')
    await search.getByRole('button', { name: 'Search' }).click()
    await page.getByText('Page 1 of 2').waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByRole('cell', { name: 'crowd121', exact: true }).waitFor()
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Next')
    await page.getByRole('button', { name: 'Previous' }).click()
    await page.getByRole('cell', { name: 'crowd100', exact: true }).waitFor()

    await unfoldFilters(page)
    await search.getByLabel('Second factor').selectOption('on')
    await search.getByRole('button', { name: 'Search' }).click()
    await page.getByText('No user matches.').waitFor()
    await search.getByLabel('Second factor').selectOption('off')
    await search.getByLabel('Not seen since').fill('2001-01-01')

    await search.getByLabel('Name or e-mail').fill('a-name')
    await search.getByRole('button', { name: 'Search' }).click()
    const name = page.locator('td .cut', { hasText: long }).first()
    await name.waitFor()
    assert.equal(await name.getAttribute('title'), long)
    const fits = async () => {
      for (const size of [WIDE, PHONE]) {
        await page.setViewportSize(size)
        const hidden = await page.locator('.table-frame').first().evaluate(hiddenPixels)
        assert.ok(hidden <= 1, `the table is ${hidden} px too wide at ${size.width} px`)
      }
    }
    await fits()

    await page.getByRole('button', { name: /^Manage/ }).click()
    assert.equal(
      await page.getByRole('button', { name: 'Delete', exact: true }).getAttribute('aria-disabled'),
      'true',
    )
    await page.getByLabel('Reason').fill('asked for by phone')
    await confirm('Send the verification mail again')
    await page.getByText('lets a-name-of-fifty').waitFor()
    await confirm('Require a new password')
    await page.getByText('must choose a new password at the next login.').waitFor()
    await page.getByText('must be changed at the next login', { exact: true }).waitFor()
    const download = page.waitForEvent('download')
    await confirm('Export the data')
    assert.match((await download).suggestedFilename(), /^user-\d+\.json$/)
    assert.deepEqual(await accessibilityFaults(page), [])
    await confirm('Delete')
    await page.getByText('can no longer sign in and will be erased.').waitFor()
    await page.getByText('asked for by an administrator').waitFor()
    await confirm('Cancel the erasure')
    await page.getByText(`The account ${long} is kept.`).waitFor()

    await goTo(page, 'audit')
    await page.getByLabel('User').fill(long)
    await unfoldFilters(page)
    await page.getByRole('combobox', { name: 'Event' }).fill('deletion_requested')
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    const row = page.getByRole('row').filter({ hasText: 'DELETION_REQUESTED' })
    await row.getByText('asked for by phone').waitFor()
    await row.getByText('admin', { exact: true }).waitFor()
    assert.equal(await page.getByRole('row').count(), 2)
    await fits()
  })

  test('ends the sessions of an account, removes its passkey and resets its password', async (t) => {
    const { origin } = new URL(address)
    const post = (path: string, body: object) =>
      fetch(`${origin}/api/auth/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const owner = { username: 'patient', password: 'a long enough password' }
    await post('register', { ...owner, email: 'patient@example.com' })
    for (let sessions = 0; sessions < 3; sessions += 1) await post('login', owner)
    const page = await openConsole(t, browser, consoleOf(origin, 'session'))
    await addVirtualAuthenticator(page)
    const form = page.getByRole('form', { name: 'Sign in' })
    await form.getByLabel('Username').fill(owner.username)
    await form.getByLabel('Password').fill(owner.password)
    await form.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Signed in as patient.').waitFor()
    await goTo(page, 'passkeys')
    await page.getByLabel('Name').fill('Old phone')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('can now sign you in').waitFor()
    await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await signIn(page, 'admin')
    await goTo(page, 'users')
    const search = page.getByRole('form', { name: 'Search users' })
    await search.getByLabel('Name or e-mail').fill(owner.username)
    await search.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('button', { name: 'Manage patient' }).click()
    await page.getByLabel('Reason').fill('the phone was stolen')

    const sessions = page.getByRole('region', { name: 'Sessions of patient' })
    const end = sessions.getByRole('button', { name: 'End', exact: true })
    const endable = (count: number) =>
      until(
        () => end.count(),
        (found) => found === count,
      )
    await endable(3)
    await end.first().click()
    const focused = () => page.evaluate('document.activeElement.textContent')
    await until(focused, (text) => text === 'No')
    await sessions.getByRole('button', { name: 'No', exact: true }).click()
    await endable(3)
    await end.first().click()
    await sessions.getByRole('button', { name: 'Yes', exact: true }).click()
    await endable(2)
    await page.getByRole('button', { name: 'End all' }).click()
    await page.getByRole('button', { name: 'Yes' }).click()
    await page.getByText('Not signed in anywhere.').waitFor()
    await page.getByRole('button', { name: 'Remove Old phone' }).click()
    await page.getByRole('button', { name: 'Yes Old phone' }).click()
    await page.getByRole('region', { name: 'Passkeys of patient' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Reset the password' }).click()
    await page.getByRole('button', { name: 'Yes' }).click()
    await page.getByText('A mail lets patient choose a new password.').waitFor()

    assert.equal((await post('login', owner)).status, 401)
    assert.deepEqual(await accessibilityFaults(page), [])
    await goTo(page, 'audit')
    await page.getByLabel('User').fill(owner.username)
    await unfoldFilters(page)
    await page.getByRole('combobox', { name: 'Event' }).fill('passkey_removed')
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    const row = page.getByRole('row').filter({ hasText: 'PASSKEY_REMOVED' })
    await row.getByText('admin', { exact: true }).waitFor()
    await row.getByText('patient', { exact: true }).waitFor()
  })

  test('pages through 100,000 accounts, and finds one of them', async (t) => {
    await insertUsers(database, 100_000)
    const page = await openConsole(t, browser, address)
    await signIn(page, 'admin')
    await goTo(page, 'users')

    await page.getByText(/^Page 1 of 50\d\d$/).waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText(/^Page 2 of 50\d\d$/).waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText(/^Page 3 of 50\d\d$/).waitFor()
    const search = page.getByRole('form', { name: 'Search users' })
    await search.getByLabel('Name or e-mail').fill('many099')
    await unfoldFilters(page)
    await search.getByLabel('State').selectOption('disabled')
    await search.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('cell', { name: 'many099001', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Next' }).click()

    await page.getByRole('cell', { name: 'many099041', exact: true }).waitFor()
    await goTo(page, 'profile')
    await page.goBack()
    await page.getByRole('cell', { name: 'many099041', exact: true }).waitFor()
    await page.getByText(/^Page 2 of /).waitFor()
    assert.equal(await search.getByLabel('Name or e-mail').inputValue(), 'many099')
    assert.equal(await search.getByLabel('State').inputValue(), 'false')
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByRole('cell', { name: 'many099081', exact: true }).waitFor()
  })

  test('creates an account, which its owner opens by mail, exports and deletes', async (t) => {
    const { origin } = new URL(address)
    const page = await openConsole(t, browser, address)
    await signIn(page, 'admin')
    await goTo(page, 'users')
    await page.getByRole('button', { name: 'Create a user' }).click()
    const form = page.getByRole('form', { name: 'Create a user' })
    await form.getByLabel('Username').fill('invited')
    await form.getByLabel('E-mail').fill('invited@example.com')
    await form.getByLabel('Reason').fill('joins the team')
    await form.getByRole('button', { name: 'Create and send the mail' }).click()
    await page.getByText('invited was created').waitFor()

    const read = async () => {
      const reply = await fetch(`${origin}/api/dev/mail?to=invited@example.com`)
      return ((await reply.json()) as { kind: string; link: string }[]).at(0)
    }
    const mail = await until(read, (found) => found !== undefined)
    const own = await openConsole(t, browser, mail?.link ?? '')
    await own.getByRole('textbox', { name: 'New password' }).fill('a password of my own')
    await own.getByRole('button', { name: 'Save the password' }).click()
    await own.getByRole('heading', { name: 'Your new password is saved' }).waitFor()
    await own.getByRole('link', { name: 'Sign in' }).click()
    await own.getByLabel('Username').fill('invited')
    await own.getByRole('textbox', { name: 'Password', exact: true }).fill('a password of my own')
    await own.getByRole('button', { name: 'Sign in', exact: true }).click()
    await own.getByText('Remove what is not yours.').waitFor()
    assert.deepEqual(await accessibilityFaults(own), [])

    const mine = await openConsole(t, browser, consoleOf(origin, 'session'))
    const logIn = async () => {
      const credentials = mine.getByRole('form', { name: 'Sign in' })
      await credentials.getByLabel('Username').fill('invited')
      await credentials.getByLabel('Password').fill('a password of my own')
      await credentials.getByRole('button', { name: 'Sign in' }).click()
    }
    await logIn()
    await mine.getByText('Signed in as invited.').waitFor()
    await goTo(mine, 'profile')
    const download = mine.waitForEvent('download')
    await mine.getByRole('button', { name: 'Download my data' }).click()
    assert.equal((await download).suggestedFilename(), 'my-data.json')
    await mine.getByRole('button', { name: 'Delete my account' }).click()
    await mine.getByRole('button', { name: 'Delete it' }).click()
    await mine.getByText('Your account will be erased on').waitFor()
    assert.deepEqual(await accessibilityFaults(mine), [])

    await mine.goto(consoleOf(origin, 'session'))
    await mine.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await logIn()
    await mine.getByRole('link', { name: 'Keep the account' }).click()
    await mine.getByRole('button', { name: 'Keep the account' }).click()
    await mine.getByRole('heading', { name: 'Your account is kept' }).waitFor()
  })

  test('is driven by the keyboard: search, go to a page, replay a request', async (t) => {
    const page = await openConsole(t, browser, address)

    await page.keyboard.press('Control+k')
    await page.keyboard.type('health')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Health', level: 1 }).waitFor()
    await page.getByText('UP', { exact: true }).waitFor()
    await page.locator('.exchange-list .badge.good').nth(1).waitFor()
    const before = await page.locator('.exchange-list li').count()
    await page.getByRole('button', { name: 'Replay' }).focus()
    await page.keyboard.press('Enter')

    await page.locator('.exchange-list li').nth(before).waitFor()
  })

  test('adds a second factor with a QR code, asks for it at sign-in, and shows its mails', async (t) => {
    const page = await openConsole(t, browser, address)
    await goTo(page, 'session')
    const account = { username: 'factoruser', password: 'correct horse battery' }
    const register = page.getByRole('form', { name: 'Register' })
    await register.getByLabel('Username').fill(account.username)
    await register.getByLabel('E-mail').fill('factoruser@example.com')
    await register.getByLabel('Password', { exact: true }).fill(account.password)
    await register.getByRole('button', { name: 'Create account' }).click()
    const signInForm = page.getByRole('form', { name: 'Sign in' })
    const enter = async () => {
      await signInForm.getByLabel('Username').fill(account.username)
      await signInForm.getByLabel('Password', { exact: true }).fill(account.password)
      await signInForm.getByRole('button', { name: 'Sign in' }).click()
    }
    await page.locator('.session-bar', { hasText: account.username }).waitFor()

    await goTo(page, 'security')
    await page.getByRole('button', { name: 'Set up an authenticator' }).click()
    await page.getByRole('img', { name: 'QR code for the authenticator' }).waitFor()
    const secret = (await page.locator('.card code').first().textContent()) ?? ''
    assert.deepEqual(await accessibilityFaults(page), [])
    await page
      .getByRole('form', { name: 'First code' })
      .getByLabel('First code')
      .fill(authenticatorCode(secret))
    await page.getByRole('button', { name: 'Turn it on' }).click()
    const codes = (await page.getByLabel('Your recovery codes').textContent())?.split('\n') ?? []
    assert.equal(codes.length, 10)
    await page.getByRole('textbox', { name: 'Type one of them' }).fill('AAAA-BBBB-CCCCC')
    await page.getByRole('button', { name: 'I have saved them' }).click()
    await page.getByText('is none of those that work', { exact: true }).waitFor()
    await page.getByRole('textbox', { name: 'Type one of them' }).fill(codes[2] ?? '')
    await page.getByRole('button', { name: 'I have saved them' }).click()
    await page.getByText('Recovery codes left: 10.').waitFor()
    await page.getByText(/Set up on \d/).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])

    await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await page.getByText('Not signed in.').waitFor()
    await goTo(page, 'session')
    await enter()
    const second = page.getByRole('form', { name: 'Second factor' })
    await second.getByLabel('Code').fill('000000')
    await second.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Wait for the next code').waitFor()
    await second.getByLabel('Code').fill(authenticatorCode(secret, 1))
    await second.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.session-bar', { hasText: account.username }).waitFor()

    await goTo(page, 'mail')
    await page.getByText('A second factor was added').first().click()
    const mail = page.locator('main').getByText('From now on every sign-in needs a code')
    await mail.waitFor()
    await page.locator('iframe[title^="A second factor was added"]').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('shows each mail as HTML and text, and administrators every template', async (t) => {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'admin')
    const { origin } = new URL(address)
    const reader = {
      username: 'reader',
      email: 'reader@example.com',
      password: 'a long passphrase',
    }
    await fetch(`${origin}/api/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(reader),
    })
    const mails = async () => {
      const reply = await fetch(`${origin}/api/dev/mail?to=${reader.email}`)
      return (await reply.json()) as unknown[]
    }
    await until(mails, ({ length }) => length > 0)
    await goTo(page, 'mail')
    await page.getByText(`to ${reader.email}`).click()
    const text = page.getByRole('region', { name: /to reader@example.com, .*as text/ })
    await text.getByText('Confirm that this address belongs').waitFor()
    const code = await page.locator('details[open] .row code').innerText()
    assert.match(code, /^\d{4}-\d{4}$/)
    assert.equal(await page.locator('details iframe').getAttribute('sandbox'), 'allow-same-origin')
    await framed(page, 'Confirm your e-mail address', code, 'fontSize', '28px')

    await page.getByLabel('Language').selectOption('de')
    await page.getByLabel('Kind').selectOption('email-change')
    await page.getByRole('heading', { name: /neue E-Mail-Adresse/ }).waitFor()
    await framed(page, 'Template email-change', '1234-5678', 'fontSize', '28px')
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('shows administrators which mails failed and why, and sends them again', async (t) => {
    const mailServer = await startMailServer(t, { refusals: 1 })
    const settings = { SMTP_URL: mailServer, MAIL_FROM: 'accounts@plinth.example' }
    const identity = (await startSuite(t, settings, ['identity'])).urlOf('identity')
    const post = (path: string, body: object) =>
      fetch(`${identity}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    await post('/api/auth/password-reset', { email: 'user@example.com' })
    const login = await post('/api/auth/login', { username: 'admin', password: 'password123123' })
    const { accessToken } = (await login.json()) as { accessToken: string }
    const headers = { authorization: `Bearer ${accessToken}` }
    await until(
      async () => (await fetch(`${identity}/api/mail`, { headers })).text(),
      (outbox) => outbox.includes('"state":"failed"'),
    )

    const page = await openConsole(t, browser, consoleOf(identity))
    await signIn(page, 'admin')
    await goTo(page, 'mail')
    const failed = page.getByRole('row', { name: /user@example\.com failed/ })
    await failed.getByText('550 no such user').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await failed.getByRole('button', { name: 'Send again' }).click()
    await page.getByRole('row', { name: /user@example\.com (queued|sent)/ }).waitFor()
    await until(
      async () => (await fetch(`${identity}/api/mail`, { headers })).text(),
      (outbox) => outbox.includes('"state":"sent"'),
    )
  })
})

/** Speaks just enough SMTP to receive a mail; refuses the first recipients. */
async function startMailServer(
  t: TestContext,
  { refusals }: { refusals: number },
): Promise<string> {
  let refused = 0
  const answerTo = (line: string) => {
    if (/^DATA/i.test(line)) return '354 go on'
    if (!/^RCPT/i.test(line) || refused === refusals) return '250 OK'
    refused += 1
    return '550 no such user'
  }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.write('220 ready\r\n')
    let isMail = false
    createInterface({ input: socket }).on('line', (line) => {
      if (isMail && line !== '.') return
      isMail = /^DATA/i.test(line)
      socket.write(`${answerTo(line)}\r\n`)
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Waits for a paragraph and its style in the frame of a mail, read from outside because scripts are off inside. */
async function framed(page: Page, title: string, text: string, style: string, value: string) {
  const paragraphs = `[...document.querySelector('iframe[title^="${title}"]').contentDocument.querySelectorAll('p')]`
  const found = `${paragraphs}.find((p) => p.textContent === '${text}')`
  await until(
    () => page.evaluate(`${found} && getComputedStyle(${found}).${style}`),
    (seen) => seen === value,
  )
}

/** Inserts users directly, because registering so many would take an hour of hashing. Every second one is disabled. */
function insertUsers(file: string, count: number): Promise<void> {
  return changeDatabase(
    file,
    `
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})
    insert into users (username, email, password_hash, roles, admin, enabled, created_at)
    select printf('many%06d', n), printf('many%06d@example.com', n), '!', '["ROLE_USER"]', 0,
      (n + 1) % 2, '2026-01-01T00:00:00.000Z'
    from numbers`,
  )
}
