import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { accessibilityFaults } from '../consoles/accessibility.ts'
import { addVirtualAuthenticator } from '../consoles/virtual-authenticator.ts'
import { consoleOf, goTo } from '../consoles/watched-page.ts'
import { changeDatabase } from '../second-connection.ts'
import { startSuite } from '../stack.ts'
import { claimsOf, enrol, openVisitor, register, signIn, startApplication } from './application.ts'

const skip = await browserSkip()
const NEW_PASSWORD = 'an entirely new password'

describe('the sign-in page', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let identity: string
  let shop: Awaited<ReturnType<typeof startApplication>>
  let database: string

  before(async () => {
    browser = await openBrowser(shared)
    const suite = await startSuite(shared, { IDENTITY_APP_COLOUR: '#1f7a4d' }, ['identity'])
    identity = suite.urlOf('identity')
    shop = await startApplication(shared, identity, { firstParty: true })
    database = join(suite.folder, 'identity.db')
  })

  const press = (page: Page, name: string) =>
    page.getByRole('button', { name, exact: true }).click()

  const codeTo = async (to: string, kind: string): Promise<string> => {
    const read = async () => {
      const reply = await fetch(`${identity}/api/dev/mail?to=${encodeURIComponent(to)}`)
      return ((await reply.json()) as { kind: string; code: string }[]).find(
        (mail) => mail.kind === kind,
      )
    }
    return (await until(read, (mail) => mail !== undefined))?.code ?? ''
  }

  test('asks for the second factor after the password', async (t) => {
    const user = await register(identity, 'twofactors')
    const [recoveryCode = ''] = await enrol(identity, user)
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize())
    await signIn(page, user)
    await page.getByRole('heading', { name: 'One more step' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    const field = page.getByLabel('Code from your authenticator')
    assert.equal(await field.getAttribute('autocomplete'), 'one-time-code')
    await field.fill('000000')
    await press(page, 'Sign in')
    await page.getByText('This code is wrong').waitFor()

    await field.fill(recoveryCode)
    await press(page, 'Sign in')

    const { body } = await shop.redeem(await shop.answered(page))
    assert.equal(claimsOf(body.id_token).acr, 'urn:plinth:2fa')
  })

  test('signs in with a passkey, by its button and in the field of the username', async (t) => {
    const user = await register(identity, 'passkeyuser')
    const page = await openVisitor(t, browser)
    await addVirtualAuthenticator(page)
    await page.goto(consoleOf(identity, 'session'))
    await page.getByLabel('Username').first().fill(user.username)
    await page.getByLabel('Password').first().fill(user.password)
    await press(page, 'Sign in')
    await page.locator('.session-bar', { hasText: user.username }).waitFor()
    await goTo(page, 'passkeys')
    await press(page, 'Add a passkey')
    await page.getByText('can now sign you in').waitFor()

    // The virtual authenticator picks the passkey that the browser offers in the field by itself.
    await page.goto(shop.authorize())
    const { body } = await shop.redeem(await shop.answered(page))
    assert.equal(claimsOf(body.id_token).preferred_username, user.username)

    // A browser that does not offer passkeys in fields has the button.
    await page.addInitScript('delete PublicKeyCredential.isConditionalMediationAvailable')
    await page.goto(shop.authorize({ prompt: 'login' }))
    const username = page.getByLabel('Username')
    assert.equal(await username.getAttribute('autocomplete'), 'username webauthn')
    await press(page, 'Sign in with a passkey')
    const again = await shop.redeem(await shop.answered(page))
    assert.equal(again.status, 200)
  })

  test('ends in a form that is posted to the application, if it wants one', async (t) => {
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize({ response_mode: 'form_post' }))
    await signIn(page, await register(identity, 'formuser'))

    const answer = await shop.answered(page)

    assert.equal(new URL(page.url()).search, '')
    assert.equal(answer.state, 'of the shop')
    assert.equal((await shop.redeem(answer)).status, 200)
  })

  test('is not shown with prompt=none: the application learns that a sign-in is required', async (t) => {
    const page = await openVisitor(t, browser)

    await page.goto(shop.authorize({ prompt: 'none' }))

    const { error, state } = await shop.answered(page)
    assert.deepEqual([error, state], ['login_required', 'of the shop'])
  })

  test('lets visitors cancel, and consenting users deny', async (t) => {
    const page = await openVisitor(t, browser)
    const asking = await startApplication(t, identity)
    await page.goto(asking.authorize())
    await press(page, 'Cancel')
    assert.equal((await asking.answered(page)).error, 'access_denied')

    await page.goto(asking.authorize())
    await signIn(page, await register(identity, 'denying'))
    await page.getByRole('heading', { name: 'Allow Shop?' }).waitFor()
    await press(page, 'Deny')
    assert.equal((await asking.answered(page)).error, 'access_denied')
  })

  test('says what an application wants in plain words, and that it runs on this device', async (t) => {
    const page = await openVisitor(t, browser, { viewport: { width: 390, height: 800 } })
    const name = '<img src=x onerror=alert(1)>'
    const tool = await startApplication(t, identity, { name, authMethod: 'none' })
    await page.goto(tool.authorize({ scope: 'openid email offline_access', state: '"><script>' }))
    await signIn(page, await register(identity, 'plainwords'))
    await page.getByRole('heading', { name: `Allow ${name}?` }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])

    await page.getByText('see your e-mail address').waitFor()
    await page.getByText('stay connected after you sign out').waitFor()
    await page.getByText('(localhost').first().waitFor()
    await page.getByText('This application runs on your own device').waitFor()
    assert.equal(await page.getByText('see your roles').count(), 0)
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
    await press(page, 'Allow')
    assert.equal((await tool.answered(page)).state, '"><script>')
  })

  test('lets the user continue with the account of the browser, or use another one', async (t) => {
    const [first, second] = [await register(identity, 'first'), await register(identity, 'second')]
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize())
    await signIn(page, first)
    await shop.answered(page)

    await page.goto(shop.authorize({ prompt: 'select_account' }))
    await page.getByText(first.email).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await press(page, `Continue as ${first.username}`)
    const one = await shop.redeem(await shop.answered(page))
    await page.goto(shop.authorize({ prompt: 'select_account' }))
    await press(page, 'Use another account')
    await signIn(page, second)
    const other = await shop.redeem(await shop.answered(page))

    const names = [one, other].map(({ body }) => claimsOf(body.id_token).preferred_username)
    assert.deepEqual(names, ['first', 'second'])
  })

  test('creates an account, which is then signed in', async (t) => {
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize({ prompt: 'create' }))
    await page.getByRole('heading', { name: 'Create an account' }).waitFor()
    await page.getByLabel('Username').fill('user')
    await page.getByLabel('E-mail address').fill('newcomer@example.com')
    await page.getByLabel('Password').fill('correct horse battery')
    await press(page, 'Create account')
    await page.getByText('This username is taken').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByLabel('Username').fill('newcomer')
    await press(page, 'Create account')

    const { body } = await shop.redeem(await shop.answered(page))
    assert.equal(claimsOf(body.id_token).preferred_username, 'newcomer')
  })

  test('keeps users signed in after the browser was closed only if they want that', async (t) => {
    const user = await register(identity, 'staying')
    const lastsUntil = async (remember: boolean) => {
      const page = await openVisitor(t, browser)
      await page.goto(shop.authorize())
      if (remember) await page.getByLabel('Keep me signed in').check()
      await signIn(page, user)
      await shop.answered(page)
      const cookies = await page.context().cookies(identity)
      const cookie = cookies.find(({ name }) => name === 'plinth-sso')
      assert.deepEqual([cookie?.httpOnly, cookie?.sameSite, cookie?.path], [true, 'Lax', '/'])
      return cookie?.expires ?? 0
    }

    assert.equal(await lastsUntil(false), -1)
    const days = (await lastsUntil(true)) - Date.now() / 1000
    assert.ok(days > 13 * 86_400 && days <= 14 * 86_400, `${days}`)
  })

  test('speaks the language that the application asks for, or that of the browser', async (t) => {
    const page = await openVisitor(t, browser, { locale: 'es-ES' })
    await page.goto(shop.authorize({ ui_locales: 'fr de' }))
    await page.getByRole('heading', { name: 'Anmelden' }).waitFor()
    assert.equal(await page.getAttribute('html', 'lang'), 'de')

    await page.goto(shop.authorize({ ui_locales: 'fr' }))
    await page.getByRole('heading', { name: 'Iniciar sesión' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('can be used with the keyboard alone', async (t) => {
    const user = await register(identity, 'keyboard')
    const asking = await startApplication(t, identity)
    const page = await openVisitor(t, browser)
    await page.goto(asking.authorize())
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()

    await page.keyboard.press('Tab')
    await page.keyboard.type(user.username)
    await page.keyboard.press('Tab')
    await page.keyboard.type(user.password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Allow Shop?' }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')

    assert.equal((await asking.redeem(await asking.answered(page))).status, 200)
  })

  test('leads a user who forgot the password to a new one, and back', async (t) => {
    const user = await register(identity, 'forgetful')
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize())
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByLabel('E-mail address').fill(user.email)
    await press(page, 'Send the mail')
    await page.getByRole('heading', { name: 'Check your inbox' }).waitFor()
    await page.getByLabel('Code from the mail').fill(await codeTo(user.email, 'password-reset'))
    await page.getByRole('textbox', { name: 'New password' }).fill(NEW_PASSWORD)
    await press(page, 'Save the password')
    await page.getByRole('heading', { name: 'Your new password is saved' }).waitFor()

    await page.getByRole('link', { name: 'Back to sign-in' }).click()
    await signIn(page, { ...user, password: NEW_PASSWORD })

    assert.equal((await shop.redeem(await shop.answered(page))).status, 200)
  })

  test('explains a request that has expired, also one that expires while it is open', async (t) => {
    const user = await register(identity, 'tooslow')
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize())
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await changeDatabase(
      database,
      `update authorizations set expires_at = '2026-01-02T12:00:00.000Z'`,
    )
    const loggedIn = page.waitForResponse((reply) => reply.url().endsWith('/api/auth/login'))
    await signIn(page, user)
    const { refreshToken } = await (await loggedIn).json()
    await page.getByRole('heading', { name: 'This sign-in cannot continue' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    const back = page.getByRole('link', { name: 'Go to Shop' })
    assert.equal(await back.getAttribute('href'), `${shop.origin}/`)

    await page.reload()
    await page.getByText('It has expired, was finished before, or was begun').waitFor()
    // The login that could not be handed over has ended, too.
    const refreshed = await fetch(`${identity}/api/auth/refresh`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ refreshToken }),
    })
    assert.equal(refreshed.status, 401)
  })

  test('explains a request of another browser, and shows nothing about it', async (t) => {
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize())
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()

    const stranger = await openVisitor(t, browser)
    await stranger.goto(page.url())

    await stranger.getByRole('heading', { name: 'This sign-in cannot continue' }).waitFor()
    assert.equal(await stranger.getByText('Shop').count(), 0)
  })

  test('a device is let in by its code, after the user has seen where it is', async (t) => {
    const user = await register(identity, 'television')
    const grantTypes = ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token']
    const tv = await startApplication(t, identity, { name: 'Film', authMethod: 'none', grantTypes })
    const ask = (path: string, fields: Record<string, string>) =>
      fetch(`${identity}/oauth2/${path}`, {
        method: 'POST',
        headers: { 'user-agent': 'FilmPlayer/1' },
        body: new URLSearchParams({ client_id: tv.clientId, ...fields }),
      })
    const begun = await ask('device_authorization', { scope: 'openid profile' })
    const device = (await begun.json()) as Record<string, string>
    const page = await openVisitor(t, browser)
    await page.goto(device.verification_uri ?? '')
    const field = page.getByLabel('Code of the device')
    await field.fill('BBBB-BBBB')
    await press(page, 'Continue')
    await page.getByText('This code is unknown or has expired.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.goto(device.verification_uri_complete ?? '')
    assert.equal(await field.inputValue(), device.user_code)
    await press(page, 'Continue')
    await signIn(page, user)
    await page.getByText('uses FilmPlayer').waitFor()
    await page.getByText('Allow it only if you have the device in front of you').waitFor()
    await page.getByText('Film would like to:', { exact: true }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await press(page, 'Allow')
    await page.getByText('go back to your device').waitFor()

    const grant = { grant_type: grantTypes[0] ?? '', device_code: device.device_code ?? '' }
    const granted = await ask('token', grant)
    const { id_token } = (await granted.json()) as Record<string, string>
    assert.equal(claimsOf(id_token).preferred_username, user.username)
  })

  test('a sign-out without a proof asks the user, and leads back to the application', async (t) => {
    const page = await openVisitor(t, browser)
    await page.goto(shop.authorize())
    await signIn(page, await register(identity, 'askedout'))
    await shop.answered(page)
    const query = new URLSearchParams({
      client_id: shop.clientId,
      post_logout_redirect_uri: `${shop.origin}/`,
    })

    await page.goto(`${identity}/oauth2/logout?${query}`)
    await page.getByRole('heading', { name: 'Sign out?' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    const stranger = await openVisitor(t, browser)
    await stranger.goto(page.url())
    await press(stranger, 'Sign out')
    await stranger
      .getByText('This request has expired, was finished before, or was begun')
      .waitFor()
    await press(page, 'Sign out')

    await shop.answered(page)
    await page.goto(shop.authorize({ prompt: 'none' }))
    assert.equal((await shop.answered(page)).error, 'login_required')
    await page.goto(`${identity}/oauth2/logout`)
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  })

  test('follows no address from its own address', async (t) => {
    const page = await openVisitor(t, browser)
    const evil = encodeURIComponent('https://evil.example/')
    const query = ['redirect_uri', 'redirectTo', 'returnTo', 'continue', 'next']
      .map((name) => `${name}=${evil}`)
      .join('&')
    await page.goto(`${shop.authorize()}&${query.replace('redirect_uri', 'target')}`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()

    await page.goto(`${page.url()}&${query}#redirectTo=${evil}`)
    await signIn(page, await register(identity, 'targeted'))

    await shop.answered(page)
    assert.equal(new URL(page.url()).origin, shop.origin)
  })
})
