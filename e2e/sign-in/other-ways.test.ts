import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { identityClient } from '@plinth/client'
import type { Browser, Page } from 'playwright-core'
import { freePorts } from '../../test/servers/free-ports.ts'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { accessibilityFaults } from '../consoles/accessibility.ts'
import { consoleOf, goTo, openConsole, signIn as signInDemo } from '../consoles/watched-page.ts'
import { changeDatabase, secondConnection } from '../second-connection.ts'
import { startSuite } from '../stack.ts'
import { claimsOf, openVisitor, register, signIn, startApplication } from './application.ts'

const skip = await browserSkip()
const USER = { username: 'user', password: 'password123123' }

/** The provider is another Plinth. It has another host name, because cookies do not tell ports apart. */
describe('the sign-in page with a mailed code and with a provider', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let upstream: string
  let identity: string
  let folder: string
  let shop: Awaited<ReturnType<typeof startApplication>>

  before(async () => {
    browser = await openBrowser(shared)
    const [port = 0] = await freePorts(1)
    upstream = `http://127.0.0.1:${port}`
    const address = { IDENTITY_PORT: `${port}`, IDENTITY_HOST: '127.0.0.1' }
    await startSuite(shared, { ...address, IDENTITY_PUBLIC_URL: upstream }, ['identity'])
    const admin = identityClient(upstream)
    await admin.logIn('admin', USER.password)
    const client = await admin.clients.create({
      name: 'Downstream',
      firstParty: true,
      redirectUris: ['http://localhost/federation/upstream/callback'],
    })
    const suite = await startSuite(
      shared,
      {
        IDENTITY_SIGN_IN_CODE: 'true',
        IDENTITY_REAUTHENTICATE: 'true',
        IDENTITY_PROVIDERS: 'upstream,down',
        IDENTITY_PROVIDER_UPSTREAM_TYPE: 'oidc',
        IDENTITY_PROVIDER_UPSTREAM_NAME: 'Upstream',
        IDENTITY_PROVIDER_UPSTREAM_ISSUER: upstream,
        IDENTITY_PROVIDER_UPSTREAM_CLIENT_ID: client.clientId,
        IDENTITY_PROVIDER_UPSTREAM_CLIENT_SECRET: client.clientSecret ?? '',
        IDENTITY_PROVIDER_DOWN_TYPE: 'oidc',
        IDENTITY_PROVIDER_DOWN_NAME: 'Down',
        IDENTITY_PROVIDER_DOWN_ISSUER: 'http://127.0.0.1:1',
        IDENTITY_PROVIDER_DOWN_CLIENT_ID: 'a client',
        IDENTITY_PROVIDER_DOWN_CLIENT_SECRET: 'a secret',
      },
      ['identity'],
    )
    identity = suite.urlOf('identity')
    folder = suite.folder
    shop = await startApplication(shared, identity, { firstParty: true })
  })

  const press = (page: Page, name: string) =>
    page.getByRole('button', { name, exact: true }).click()

  /** The page that is left has fields of the same names. */
  const signInUpstream = async (page: Page, user: Parameters<typeof signIn>[1]) => {
    await press(page, 'Continue with Upstream')
    await page.getByText('To continue to Downstream.').waitFor()
    await signIn(page, user)
  }

  const codeTo = async (service: string, to: string, kind: string): Promise<string> => {
    const read = async () => {
      const reply = await fetch(`${service}/api/dev/mail?to=${encodeURIComponent(to)}`)
      return ((await reply.json()) as { kind: string; code: string }[]).find(
        (mail) => mail.kind === kind,
      )
    }
    return (await until(read, (mail) => mail !== undefined))?.code ?? ''
  }

  /** As if everyone had signed in long ago. */
  const ageSignIns = () =>
    changeDatabase(
      join(folder, 'identity.db'),
      `update sessions set authenticated_at = '2020-01-01T00:00:00.000Z'`,
    )
  const sessionsOf = (email: string) => {
    const database = secondConnection(join(folder, 'identity.db'))
    const query = `select s.id from sessions s join users u on u.id = s.user_id
      where u.email = ? and s.state = 'active'`
    const sessions = database.prepare(query).all(email)
    database.close()
    return sessions.length
  }

  /** Someone whose provider vouches for the address. */
  const registerUpstream = async (name: string) => {
    const user = await register(upstream, name)
    const code = await codeTo(upstream, user.email, 'verify-email')
    await identityClient(upstream).recovery.verifyEmail({ email: user.email, code })
    return user
  }

  const userOf = async (page: Page) => {
    const { body } = await shop.redeem(await shop.answered(page))
    return claimsOf(body.id_token)
  }

  test('a mailed code signs in', async (t) => {
    const user = await register(identity, 'codeuser')
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize({ login_hint: user.email }))
    await press(page, 'Mail me a code')
    await page.getByRole('heading', { name: 'Sign in with a mailed code' }).waitFor()
    assert.equal(await page.getByLabel('E-mail address').inputValue(), user.email)
    await press(page, 'Send the mail')
    const field = page.getByLabel('Code from the mail')
    assert.equal(await field.getAttribute('autocomplete'), 'one-time-code')
    await field.fill('0000-0000')
    await press(page, 'Sign in')
    await page.getByText('This code does not belong to the address').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await field.fill(await codeTo(identity, user.email, 'sign-in-code'))
    await press(page, 'Sign in')

    const { preferred_username, amr } = await userOf(page)
    assert.deepEqual([preferred_username, amr], [user.username, ['mail']])
  })

  test('a provider signs in to an account that it creates the first time', async (t) => {
    const user = await register(upstream, 'upstreamer')
    const code = await codeTo(upstream, user.email, 'verify-email')
    await identityClient(upstream).recovery.verifyEmail({ email: user.email, code })
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize())
    await page.getByLabel('Keep me signed in').check()
    await signInUpstream(page, user)

    const first = await userOf(page)
    assert.deepEqual([first.email, first.amr], [user.email, ['fed']])
    const cookies = await page.context().cookies(identity)
    assert.ok(cookies.some(({ name, expires }) => name === 'plinth-sso' && expires > 0))
    await page.goto(shop.authorize({ prompt: 'login' }))
    await press(page, 'Continue with Upstream')
    assert.equal((await userOf(page)).sub, first.sub)

    // The account has no password, and its page gets by without one.
    await page.goto(`${identity}/account/`)
    await press(page, 'Continue with Upstream')
    await page.getByText(`E-mail address: ${user.email}`).waitFor()
    assert.equal(await page.getByLabel('Current password').count(), 0)
    await page.getByText('Your account has no password.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await press(page, 'Remove Upstream')
    await press(page, 'Remove Upstream')
    await page.getByText('This is your only way to sign in.').waitFor()
  })

  test('a provider whose address belongs to an account is linked to it after one more sign-in', async (t) => {
    const name = 'twice'
    const user = await register(upstream, name)
    const code = await codeTo(upstream, user.email, 'verify-email')
    await identityClient(upstream).recovery.verifyEmail({ email: user.email, code })
    await register(identity, name)
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize())
    await signInUpstream(page, user)
    await page.getByText('There is already an account with this address.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    assert.doesNotMatch(page.url(), /#ticket/)
    await signIn(page, user)
    const { sub } = await userOf(page)

    await page.goto(shop.authorize({ prompt: 'login' }))
    await press(page, 'Continue with Upstream')

    assert.equal((await userOf(page)).sub, sub)
  })

  test('the account page links an account at a provider, in a window that closes by itself', async (t) => {
    const there = await registerUpstream('elsewhere')
    const user = await register(identity, 'connector')
    const page = await openVisitor(t, browser)
    await page.goto(`${identity}/account/`)
    await signIn(page, user)
    await page.getByRole('heading', { name: 'Accounts elsewhere' }).waitFor()
    const opened = page.context().waitForEvent('page')
    await press(page, 'Connect Upstream')
    const window = await opened
    await page.getByText('Continue in the window of Upstream.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await window.getByText('To continue to Downstream.').waitFor()
    const closed = window.waitForEvent('close')
    await signIn(window, there)

    await page.getByText(`E-mail address: ${there.email}`).waitFor()
    await closed
    assert.equal(await page.getByRole('button', { name: 'Connect Upstream' }).count(), 0)
    await page.getByText(`Signed in as ${user.username}`).waitFor()

    await press(page, 'Connect Down')
    await page.getByText('This provider does not answer at the moment.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('the console lists accounts at providers, and leads to where they are linked', async (t) => {
    const page = await openConsole(t, browser, consoleOf(identity))
    await signInDemo(page, 'user')
    await goTo(page, 'profile')
    const card = page.locator('section.card', { hasText: 'Accounts elsewhere' })
    await card.getByText('Nothing yet.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await changeDatabase(
      join(folder, 'identity.db'),
      `insert into identities (user_id, provider, issuer, subject, email, created_at, last_used_at)
        select id, 'upstream', '${upstream}', 'listed', 'there@example.com', created_at, created_at
        from users where username = 'user'`,
    )
    await goTo(page, 'security')
    await goTo(page, 'profile')
    await card.getByRole('cell', { name: 'there@example.com' }).waitFor()
    await card.getByRole('button', { name: 'Remove Upstream' }).click()
    await card.getByRole('button', { name: /^Yes/ }).click()
    await card.getByText('Nothing yet.').waitFor()

    await card.getByRole('link', { name: 'Connect one on your account page' }).click()

    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/account/')
  })

  test('a link that is cancelled at the provider, or belongs to somebody else, is explained', async (t) => {
    const there = await registerUpstream('claimed')
    const owner = await openVisitor(t, browser)
    await owner.goto(`${identity}/account/`)
    await signInUpstream(owner, there)
    await owner.getByText(`E-mail address: ${there.email}`).waitFor()
    const user = await register(identity, 'latecomer')
    const page = await openVisitor(t, browser)
    await page.goto(`${identity}/account/`)
    await signIn(page, user)
    const connect = async () => {
      const opened = page.context().waitForEvent('page')
      await press(page, 'Connect Upstream')
      return opened
    }

    await press(await connect(), 'Cancel')
    await page.getByText('The sign-in at the provider was cancelled.').waitFor()
    await signIn(await connect(), there)

    await page.getByText('This account at the provider belongs to another account here.').waitFor()
  })

  test('a user without a password proves with a mailed code that it is them', async (t) => {
    const user = await registerUpstream('passwordless')
    const page = await openVisitor(t, browser)
    await page.goto(`${identity}/account/`)
    await signInUpstream(page, user)
    await page.getByText('Your account has no password.').waitFor()
    await ageSignIns()

    await page.getByLabel('New address').fill('moved@example.com')
    await page.getByLabel('New address').press('Enter')
    await page.getByRole('heading', { name: 'Is it still you?' }).waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Password' }).count(), 0)
    assert.deepEqual(await accessibilityFaults(page), [])
    await press(page, 'Mail me a code')
    await press(page, 'Send the mail')
    await page
      .getByLabel('Code from the mail')
      .fill(await codeTo(identity, user.email, 'sign-in-code'))
    await press(page, 'Sign in')

    await page.getByText('A mail is on its way to the new address.').waitFor()
    assert.equal(sessionsOf(user.email), 1)
  })

  test('the account page signs in with a mailed code', async (t) => {
    const user = await register(identity, 'coded')
    const page = await openVisitor(t, browser)
    await page.goto(`${identity}/account/`)
    await press(page, 'Mail me a code')
    await page.getByLabel('E-mail address').fill(user.email)
    await press(page, 'Send the mail')
    await page
      .getByLabel('Code from the mail')
      .fill(await codeTo(identity, user.email, 'sign-in-code'))
    await press(page, 'Sign in')

    await page.getByText(`Signed in as ${user.username}`).waitFor()
  })

  test('an address that the provider does not vouch for is proved with a code', async (t) => {
    const user = await register(upstream, 'unproved')
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize())
    await signInUpstream(page, user)
    await page.getByRole('heading', { name: 'Your e-mail address' }).waitFor()
    await page.getByRole('textbox', { name: 'E-mail address' }).fill('proved@example.com')
    await press(page, 'Send the mail')
    await page
      .getByLabel('Code from the mail')
      .fill(await codeTo(identity, 'proved@example.com', 'sign-up-code'))
    await press(page, 'Sign in')

    assert.equal((await userOf(page)).email, 'proved@example.com')
  })

  test('a provider that is down, or where the user cancels, is explained', async (t) => {
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize())
    await press(page, 'Continue with Down')
    await page.getByText('This provider does not answer at the moment.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])

    await press(page, 'Continue with Upstream')
    await page.getByText('To continue to Downstream.').waitFor()
    await press(page, 'Cancel')

    await page.getByText('The sign-in at the provider was cancelled.').waitFor()
    await signIn(page, USER)
    assert.equal((await userOf(page)).preferred_username, 'user')
  })
})
