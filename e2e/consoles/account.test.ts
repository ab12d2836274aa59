import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { changeDatabase } from '../second-connection.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { authenticatorCode } from './authenticator-code.ts'
import { addVirtualAuthenticator } from './virtual-authenticator.ts'
import { consoleOf, goTo, openConsole, signIn as signInDemo } from './watched-page.ts'

const skip = await browserSkip()
const NEW_PASSWORD = 'an entirely new password'

type Mail = { kind: string; code: string; link: string }

describe('the account pages', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let identity: string
  let database: string

  before(async () => {
    browser = await openBrowser(shared)
    const settings = { IDENTITY_REAUTHENTICATE: 'true', IDENTITY_APP_COLOUR: '#1f7a4d' }
    const suite = await startSuite(shared, settings)
    identity = suite.urlOf('identity')
    database = join(suite.folder, 'identity.db')
  })

  const post = (path: string, body: object) =>
    fetch(`${identity}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  const register = async (name: string) => {
    const user = { username: name, email: `${name}@example.com`, password: 'correct horse battery' }
    assert.equal((await post('/api/auth/register', user)).status, 201)
    return user
  }

  const logIn = async (username: string, password: string) =>
    (await post('/api/auth/login', { username, password })).status

  const mailTo = async (to: string, kind: string): Promise<Mail> => {
    const read = async () => {
      const reply = await fetch(`${identity}/api/dev/mail?to=${encodeURIComponent(to)}`)
      return ((await reply.json()) as Mail[]).find((mail) => mail.kind === kind)
    }
    return (await until(read, (mail) => mail !== undefined)) as Mail
  }

  test('a reset link works once, and leads to a new mail after that', async (t) => {
    const { username, email } = await register('forgetful')
    await post('/api/auth/password-reset', { email })
    const { link } = await mailTo(email, 'password-reset')

    const page = await openConsole(t, browser, link, { viewport: { width: 390, height: 800 } })
    await page.getByRole('textbox', { name: 'New password' }).fill(NEW_PASSWORD)
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Save the password' }).click()
    await page.getByRole('heading', { name: 'Your new password is saved' }).waitFor()
    assert.equal(await logIn(username, NEW_PASSWORD), 200)

    const again = await openConsole(t, browser, link)
    await again.getByRole('textbox', { name: 'New password' }).fill(NEW_PASSWORD)
    await again.getByRole('button', { name: 'Save the password' }).click()
    await again.getByText('This link was used on').waitFor()
    await again.getByRole('link', { name: 'Ask for a new mail' }).click()
    await again.getByRole('heading', { name: 'Forgot your password?' }).waitFor()

    await again.goto(`${identity}/account/#verify=unknown`)
    await again.getByText('This link or code no longer works').waitFor()
    await again.getByRole('link', { name: 'Ask for a new mail' }).click()
    await again.getByRole('heading', { name: 'Confirm your e-mail address' }).waitFor()
    const address = again.getByRole('textbox', { name: 'E-mail address' })
    await address.fill(email)
    await address.press('Enter')
    await again.getByRole('heading', { name: 'Check your inbox' }).waitFor()
  })

  test('a wrong code leads to the form that asks for a new mail', async (t) => {
    const page = await openConsole(t, browser, `${identity}/account/#forgot`)
    const ask = async () => {
      await page.getByRole('textbox', { name: 'E-mail address' }).fill('nobody@example.com')
      await page.getByRole('button', { name: 'Send the mail' }).click()
      await page.getByRole('heading', { name: 'Check your inbox' }).waitFor()
      await page.getByRole('textbox', { name: 'Code from the mail' }).fill('1234 5678')
    }
    await ask()
    await page.getByRole('textbox', { name: 'New password' }).fill(NEW_PASSWORD)
    await page.getByRole('button', { name: 'Save the password' }).click()
    await page.getByRole('link', { name: 'Ask for a new mail' }).click()
    await page.getByRole('heading', { name: 'Forgot your password?' }).waitFor()

    await page.goto(`${identity}/account/#resend`)
    await ask()
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('link', { name: 'Ask for a new mail' }).click()
    await page.getByRole('heading', { name: 'Confirm your e-mail address' }).waitFor()
  })

  test('a link that was replaced or has expired says so, and when', async (t) => {
    const { email } = await register('toolate')
    const ask = () => post('/api/auth/password-reset', { email })
    await ask()
    const first = await mailTo(email, 'password-reset')
    await ask()
    const second = await until(
      () => mailTo(email, 'password-reset'),
      ({ link }) => link !== first.link,
    )
    const says = async (link: string, words: RegExp) => {
      const page = await openConsole(t, browser, link)
      await page.getByRole('textbox', { name: 'New password' }).fill(NEW_PASSWORD)
      await page.getByRole('button', { name: 'Save the password' }).click()
      await page.getByText(words).waitFor()
    }
    await says(first.link, /replaced by the mail of \d+ \w+ \d{4}/)
    await changeDatabase(
      database,
      `update one_time_tokens set expires_at = '2026-01-02T12:00:00.000Z'
      where kind = 'password-reset' and address = '${email}' and replaced_at is null`,
    )
    await says(second.link, /expired on 2 Jan 2026/)
  })

  test('text typed the moment a field appears is kept, and so is the focus', async (t) => {
    const page = await openConsole(t, browser, `${identity}/account/`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    // The observer runs right after the page is rendered, before any timer or frame.
    await page.evaluate(`new MutationObserver((_, observer) => {
      const field = document.querySelector('input[name=email]')
      if (!field) return
      observer.disconnect()
      field.focus()
      field.value = 'quick@example.com'
      field.dispatchEvent(new InputEvent('input', { bubbles: true }))
    }).observe(document.body, { subtree: true, childList: true })
    location.hash = 'resend'`)
    await page.getByRole('heading', { name: 'Confirm your e-mail address' }).waitFor()
    // Effects that wait for the paint have run by then.
    await page.evaluate(`new Promise((done) => requestAnimationFrame(() => setTimeout(done)))`)

    const address = page.getByRole('textbox', { name: 'E-mail address' })
    assert.equal(await address.inputValue(), 'quick@example.com')
    assert.equal(await page.evaluate(`document.activeElement.name`), 'email')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Check your inbox' }).waitFor()
  })

  /** Turns the second factor on in a separate session. */
  const enrolElsewhere = async ({ username, password }: { username: string; password: string }) => {
    const { accessToken } = (await (
      await post('/api/auth/login', { username, password })
    ).json()) as {
      accessToken: string
    }
    const own = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${accessToken}` }
      const sent = { method: 'POST', headers, body: JSON.stringify(body) }
      return (await (await fetch(`${identity}${path}`, sent)).json()) as Record<string, string>
    }
    const { secret = '' } = await own('/api/users/me/totp', {})
    const { recoveryCodes } = await own('/api/users/me/totp/confirm', {
      code: authenticatorCode(secret),
    })
    return { secret, recoveryCodes }
  }

  test('a reset that removes the second factor of an unconfirmed address says so', async (t) => {
    const user = await register('neverconfirmed')
    await enrolElsewhere(user)
    await post('/api/auth/password-reset', { email: user.email })
    const { link } = await mailTo(user.email, 'password-reset')

    const page = await openConsole(t, browser, link)
    await page.getByRole('textbox', { name: 'New password' }).fill(NEW_PASSWORD)
    await page.getByRole('button', { name: 'Save the password' }).click()
    await page.getByRole('heading', { name: 'Your new password is saved' }).waitFor()

    await page.getByText('This address had never been confirmed').waitFor()
    assert.deepEqual(await page.getByRole('listitem').allInnerTexts(), ['Second factor'])
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('a reset asks for the second factor and accepts a recovery code', async (t) => {
    const user = await register('twofactors')
    const { username, email } = user
    const verify = await mailTo(email, 'verify-email')
    await post('/api/auth/verify-email', { token: new URL(verify.link).hash.split('=')[1] })
    const { recoveryCodes } = await enrolElsewhere(user)
    await post('/api/auth/password-reset', { email })
    const { link } = await mailTo(email, 'password-reset')

    const page = await openConsole(t, browser, link)
    await page.getByRole('textbox', { name: 'New password' }).fill(NEW_PASSWORD)
    await page.getByRole('button', { name: 'Save the password' }).click()
    await page.getByText('Your account has a second factor').waitFor()
    const factor = page.getByLabel('Code from your authenticator')
    await factor.fill('000000')
    await page.getByRole('button', { name: 'Save the password' }).click()
    await page.getByText('This code is wrong').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await factor.fill(recoveryCodes?.[4] ?? '')
    await page.getByRole('button', { name: 'Save the password' }).click()
    await page.getByRole('heading', { name: 'Your new password is saved' }).waitFor()
    assert.equal(await logIn(username, NEW_PASSWORD), 401)
  })

  test('an address is verified with a button, in German, too', async (t) => {
    const { email, ...credentials } = await register('verified')
    const { link } = await mailTo(email, 'verify-email')
    const reply = await post('/api/auth/login', credentials)
    const { accessToken } = (await reply.json()) as { accessToken: string }
    const isVerified = async () => {
      const headers = { authorization: `Bearer ${accessToken}` }
      const security = await fetch(`${identity}/api/users/me/security`, { headers })
      return ((await security.json()) as { emailVerified: boolean }).emailVerified
    }

    const options = { locale: 'de-DE', colorScheme: 'dark' } as const
    const page = await openConsole(t, browser, link, options)
    await page.getByRole('heading', { name: 'Ist das dein Konto?' }).waitFor()
    await page.getByText('verified wurde am').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    assert.equal(await isVerified(), false)
    await page.getByRole('button', { name: 'Bestätigen' }).click()
    await page.getByRole('heading', { name: 'Deine E-Mail-Adresse ist bestätigt' }).waitFor()
    assert.equal(await isVerified(), true)
  })

  test('codes of mails read on another device can be entered together with the address', async (t) => {
    const user = await register('typist')
    const { code } = await mailTo(user.email, 'verify-email')
    const page = await openConsole(t, browser, `${identity}/account/#resend`, {
      colorScheme: 'dark',
    })
    await page.getByRole('link', { name: 'I have a code from a mail' }).click()
    await page.getByText('Enter the address that the mail was sent to').waitFor()
    const codeField = page.getByLabel('Code from the mail')
    const confirm = page.getByRole('button', { name: 'Confirm' })
    await page.getByRole('textbox', { name: 'E-mail address' }).fill(user.email)
    await codeField.fill('1234')
    await confirm.click()
    await page.getByText('This code does not belong to the address').waitFor()
    assert.equal(await codeField.getAttribute('autocomplete'), 'one-time-code')
    assert.deepEqual(await accessibilityFaults(page), [])
    await codeField.fill(`${code.slice(0, 4)}-${code.slice(4)}`)
    await confirm.click()
    await page.getByRole('heading', { name: 'Your e-mail address is confirmed' }).waitFor()

    await page.goto(`${identity}/account/#home`)
    await signIn(page, user)
    const address = page.getByRole('region', { name: 'E-mail address' })
    await address.getByLabel('New address').fill('typed@example.com')
    await address.getByRole('button', { name: 'Send the mail' }).click()
    const change = await mailTo('typed@example.com', 'email-change')
    await codeField.fill(`${change.code.slice(0, 4)} ${change.code.slice(4)}`)
    await confirm.click()
    await address.getByText('Your address is typed@example.com.').waitFor()
    assert.equal(await address.getByText('not confirmed').count(), 0)

    await post('/api/auth/password-reset', { email: 'typed@example.com' })
    const reset = await mailTo('typed@example.com', 'password-reset')
    const elsewhere = await openConsole(t, browser, `${identity}/account/#reset`)
    await elsewhere.getByLabel('E-mail address').fill('typed@example.com')
    await elsewhere.getByLabel('Code from the mail').fill(reset.code)
    await elsewhere.getByRole('textbox', { name: 'New password' }).fill(NEW_PASSWORD)
    await elsewhere.getByRole('button', { name: 'Save the password' }).click()
    await elsewhere.getByRole('heading', { name: 'Your new password is saved' }).waitFor()
    assert.equal(await logIn(user.username, NEW_PASSWORD), 200)
  })

  test('an unconfirmed address can be confirmed on the account page', async (t) => {
    const user = await register('unconfirmed')
    const first = await mailTo(user.email, 'verify-email')
    const page = await openConsole(t, browser, `${identity}/account/`)
    await signIn(page, user)
    const address = page.getByRole('region', { name: 'E-mail address' })
    await address.getByText('This address is not confirmed yet.').waitFor()
    await address.getByRole('button', { name: 'Ask for a new mail' }).click()
    await address.getByText('A mail is on its way.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    const { code } = await until(
      () => mailTo(user.email, 'verify-email'),
      (mail) => mail.link !== first.link,
    )
    await address.getByLabel('Code from the mail').fill(code)
    await address.getByRole('button', { name: 'Confirm' }).click()
    await address.getByText('This address is not confirmed yet.').waitFor({ state: 'detached' })
  })

  test('data is exported by mail, and its notice can be answered with "this was not me"', async (t) => {
    const { username, email, password } = await register('robbed')
    const reply = await post('/api/auth/login', { username, password })
    const { accessToken } = (await reply.json()) as { accessToken: string }
    const headers = { authorization: `Bearer ${accessToken}` }
    await fetch(`${identity}/api/users/me/export`, { method: 'POST', headers })
    const data = await openConsole(t, browser, (await mailTo(email, 'data-export')).link)
    const saved = data.waitForEvent('download')
    await data.getByRole('button', { name: 'Download my data' }).click()
    assert.equal((await saved).suggestedFilename(), 'my-data.json')
    const { link } = await mailTo(email, 'data-exported')
    assert.equal(await logIn(username, password), 200)

    const page = await openConsole(t, browser, link, { locale: 'es-ES' })
    await page.getByRole('heading', { name: '¿No has sido tú?' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'No he sido yo' }).click()
    await page.getByRole('heading', { name: 'Tu cuenta está bloqueada' }).waitFor()
    assert.equal(await logIn(username, password), 401)
    await mailTo(email, 'password-ended')
  })

  test('the owner of an address can disable an account that someone else registered with it', async (t) => {
    const { username, email, password } = await register('trapped')
    const { link } = await mailTo(email, 'verify-email')
    const page = await openConsole(t, browser, link)
    await page.getByRole('button', { name: 'I did not create it' }).click()
    await page.getByRole('heading', { name: 'The account is disabled' }).waitFor()
    assert.equal(await logIn(username, password), 401)
  })

  test('a new address is confirmed, and the old one can undo the change', async (t) => {
    const { username, email, password } = await register('mover')
    const reply = await post('/api/auth/login', { username, password })
    const { accessToken } = (await reply.json()) as { accessToken: string }
    await fetch(`${identity}/api/users/me/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${accessToken}` },
      body: JSON.stringify({ newEmail: 'moved@example.com' }),
    })
    const change = await mailTo('moved@example.com', 'email-change')
    const page = await openConsole(t, browser, change.link)
    await page.getByText(/the account mover asked to use moved@example\.com/).waitFor()
    await page.getByText('If this is not your account, close this page').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('heading', { name: 'Your new e-mail address is in use' }).waitFor()
    const again = await openConsole(t, browser, change.link)
    await again.getByText('This link was used on').waitFor()

    const { link } = await mailTo(email, 'email-changed')
    const old = await openConsole(t, browser, link)
    await old.getByRole('button', { name: 'Restore it' }).click()
    await old.getByRole('heading', { name: 'Your old address is restored' }).waitFor()
    assert.equal(await logIn(username, password), 401)
    await mailTo(email, 'password-ended')
  })

  const signIn = async (
    page: Page,
    { username, password }: { username: string; password: string },
  ) => {
    await page.getByLabel('Username').fill(username)
    await page.getByRole('textbox', { name: 'Password', exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  }

  test('the account page manages a second factor, its recovery codes, and devices', async (t) => {
    const user = await register('athome')
    const page = await openConsole(t, browser, `${identity}/account/`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await signIn(page, { ...user, password: 'a wrong password' })
    await page.getByText('Wrong username or password.').waitFor()
    await signIn(page, user)
    await page.getByRole('heading', { name: 'Your account' }).waitFor()

    const factor = page.getByRole('region', { name: 'Second factor' })
    await factor.getByRole('button', { name: 'Set up an authenticator' }).click()
    await factor.getByRole('img', { name: 'QR code' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    const secret = await factor.locator('code').innerText()
    await factor.getByRole('textbox', { name: 'First code' }).fill(authenticatorCode(secret))
    await factor.getByRole('button', { name: 'Turn it on' }).click()
    const codes = (await factor.locator('pre').innerText()).split('\n')
    const text = codes.join('\n')
    await factor.getByRole('button', { name: 'Copy' }).click()
    await factor.getByRole('button', { name: 'Copied' }).waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), text)
    const saving = page.waitForEvent('download')
    await factor.getByRole('link', { name: 'Download' }).click()
    const saved = await saving
    assert.equal(saved.suggestedFilename(), 'recovery-codes.txt')
    assert.equal(await readFile(await saved.path(), 'utf8'), text)
    await page.evaluate('window.print = () => { document.title = "printed" }')
    await factor.getByRole('button', { name: 'Print' }).click()
    assert.equal(await page.title(), 'printed')

    const asked = page.waitForEvent('dialog')
    await page.evaluate(`setTimeout(() => location.reload())`)
    const dialog = await asked
    assert.equal(dialog.type(), 'beforeunload')
    await dialog.accept()
    await signIn(page, user)
    await page.getByLabel('Code from your authenticator').fill(authenticatorCode(secret, 1))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await factor
      .getByText('You have not confirmed yet that you saved your recovery codes')
      .waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await factor.getByRole('textbox', { name: 'Type one of them' }).fill('0000-0000-00000')
    await factor.getByRole('button', { name: 'I have saved them' }).click()
    await factor.getByText('This is not one of them.').waitFor()
    await factor
      .getByRole('textbox', { name: 'Type one of them' })
      .fill((codes[3] ?? '').toLowerCase())
    await factor.getByRole('button', { name: 'I have saved them' }).click()
    await factor.getByText('You have not confirmed yet').waitFor({ state: 'detached' })
    await factor.getByText('Recovery codes left: 10.').waitFor()

    const devices = page.getByRole('region', { name: 'Devices' })
    assert.equal(await devices.getByRole('listitem').count(), 2)
    await devices.getByRole('button', { name: 'Sign out' }).click()
    await devices.getByText('That device will have to sign in again.').waitFor()
    await devices.locator('button:focus', { hasText: 'Cancel' }).waitFor()
    await page.keyboard.press('Escape')
    await devices
      .getByText('That device will have to sign in again.')
      .waitFor({ state: 'detached' })
    await devices.getByRole('button', { name: 'Sign out' }).click()
    await devices.getByRole('button', { name: 'Cancel' }).waitFor()
    await devices.getByRole('button', { name: 'Sign out' }).click()
    await until(
      () => devices.getByRole('listitem').count(),
      (count) => count === 1,
    )
    assert.deepEqual(await accessibilityFaults(page), [])

    await page.getByRole('button', { name: 'Sign out' }).click()
    await signIn(page, user)
    await page.getByRole('heading', { name: 'One more step' }).waitFor()
    await page.getByLabel('Code from your authenticator').fill(codes[0] ?? '')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Recovery codes left: 9.').waitFor()
    assert.equal(await page.getByText('Make new ones soon.').count(), 0)
    for (const recoveryCode of codes.slice(1, 6)) {
      const { mfaToken } = (await (await post('/api/auth/login', user)).json()) as {
        mfaToken: string
      }
      assert.equal((await post('/api/auth/mfa', { mfaToken, recoveryCode })).status, 200)
    }
    await page.reload()
    await signIn(page, user)
    await page.getByLabel('Code from your authenticator').fill(codes[6] ?? '')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Recovery codes left: 3. Make new ones soon.').waitFor()
  })

  test('a sign-in that starts again says why, and only if it failed', async (t) => {
    const user = await register('fumbler')
    const { accessToken } = (await (await post('/api/auth/login', user)).json()) as {
      accessToken: string
    }
    const own = async (path: string, body?: object) => {
      const headers = { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' }
      const reply = await fetch(`${identity}/api/users/me/${path}`, {
        ...{ method: 'POST', headers, body: JSON.stringify(body ?? {}) },
      })
      return (await reply.json()) as { secret: string }
    }
    const { secret } = await own('totp')
    await own('totp/confirm', { code: authenticatorCode(secret) })
    const page = await openConsole(t, browser, `${identity}/account/`)
    const step = page.getByRole('heading', { name: 'One more step' })
    await signIn(page, user)
    await step.waitFor()

    await page.getByRole('button', { name: 'Start again' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    await signIn(page, user)
    await step.waitFor()
    for (let tries = 0; tries < 5; tries += 1) {
      const answered = page.waitForResponse('**/api/auth/mfa')
      await page.getByRole('textbox', { name: 'Code from' }).fill('not-a-code')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await (await answered).finished()
      await page.locator('[type=submit][aria-busy=false]').waitFor()
    }

    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByText('This code is wrong or was used before.').waitFor()
  })

  test('after too many attempts, a recovery code is suggested only where one is accepted', async (t) => {
    const user = await register('hasty')
    await enrolElsewhere(user)
    const page = await openConsole(t, browser, `${identity}/account/`)
    const refused = { status: 429, json: { code: 'TOO_MANY_ATTEMPTS' } }
    await page.route('**/api/auth/login', (route) => route.fulfill(refused), { times: 1 })
    await page.route('**/api/auth/mfa', (route) => route.fulfill(refused))

    await signIn(page, user)
    await page.getByText('Try again later').waitFor()
    assert.equal(await page.getByText('use a recovery code').count(), 0)
    await signIn(page, user)
    await page.getByLabel('Code from your authenticator').fill('123456')
    await page.getByRole('button', { name: 'Sign in' }).click()

    await page.getByText('Try again later, or use a recovery code.').waitFor()
  })

  test('a session that was ended elsewhere is said to be over', async (t) => {
    const user = await register('sentaway')
    const page = await openConsole(t, browser, `${identity}/account/`)
    await signIn(page, user)
    const password = page.getByRole('region', { name: 'Password' })
    await password.getByLabel('Current password').fill(user.password)
    await password.getByLabel('New password').fill(NEW_PASSWORD)
    await changeDatabase(
      database,
      "delete from sessions where user_id = (select id from users where username = 'sentaway')",
    )

    await password.getByRole('button', { name: 'Save the password' }).click()

    await password.getByText('You are no longer signed in. Sign in again.').waitFor()
  })

  test('an account that could not be loaded is asked for again, without another sign-in', async (t) => {
    const user = await register('offline')
    const page = await openConsole(t, browser, `${identity}/account/`)
    await page.route('**/api/users/me/security', (route) => route.abort())
    await signIn(page, user)
    await page.getByText('That did not work. Try again in a moment.').waitFor()
    await page.unroute('**/api/users/me/security')

    await page.getByRole('button', { name: 'Try again' }).click()

    await page.getByText('Signed in as offline.').waitFor()
  })

  test('the account page signs in with a passkey and removes it', async (t) => {
    const page = await openConsole(t, browser, consoleOf(identity))
    await addVirtualAuthenticator(page)
    await signInDemo(page, 'user')
    await goTo(page, 'passkeys')
    await page.getByLabel('Name').fill('Test device')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('“Test device” can now sign you in').waitFor()

    await page.goto(`${identity}/account/`)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    const passkeys = page.getByRole('region', { name: 'Passkeys' })
    await passkeys.getByRole('button', { name: 'Remove Test device' }).click()
    await passkeys.getByText('You will no longer be able to sign in with it.').waitFor()
    await passkeys.getByRole('button', { name: 'Remove Test device' }).click()
    await passkeys.getByRole('listitem').waitFor({ state: 'detached' })
    await passkeys.getByRole('button', { name: 'Add a passkey' }).waitFor()
  })

  test('a browser without passkeys is not offered to use one', async (t) => {
    const page = await openConsole(t, browser, `${identity}/account/`)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()

    await page.addInitScript('delete globalThis.PublicKeyCredential')
    await page.reload()

    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Sign in with a passkey' }).count(), 0)
  })

  test('a change that waits for a proof is given up when the page is left', async (t) => {
    const user = await register('interrupted')
    const page = await openConsole(t, browser, `${identity}/account/`)
    await signIn(page, user)
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await enrolElsewhere(user)
    await page.getByRole('button', { name: 'Delete my account' }).click()
    await page.getByRole('button', { name: 'Delete it' }).click()
    await page.getByRole('heading', { name: 'Is it still you?' }).waitFor()

    await page.evaluate(`location.hash = 'forgot'`)
    await page.getByRole('heading', { name: 'Forgot your password?' }).waitFor()
    await page.goBack()

    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Is it still you?' }).count(), 0)
  })

  test('the keyboard stays where it was after a question and after a proof', async (t) => {
    const user = await register('keyboardist')
    const page = await openConsole(t, browser, `${identity}/account/`, {
      viewport: { width: 1280, height: 720 },
    })
    await signIn(page, user)
    const focused = () => page.evaluate<string>('document.activeElement.textContent')
    await page.getByRole('button', { name: 'Delete my account' }).press('Enter')
    await until(focused, (text) => text === 'Cancel')
    await page.keyboard.press('Escape')
    await until(focused, (text) => text === 'Delete my account')

    await enrolElsewhere(user)
    await page.getByLabel('New address').fill('typed@example.com')
    await page.getByRole('button', { name: 'Send the mail' }).press('Enter')
    await page.getByRole('heading', { name: 'Is it still you?' }).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).press('Enter')

    await until(focused, (text) => text === 'Send the mail')
  })

  test('the account page reauthenticates before it changes the address, and deletes the account', async (t) => {
    const user = await register('leaving')
    const page = await openConsole(t, browser, `${identity}/account/`, {
      viewport: { width: 390, height: 800 },
    })
    await signIn(page, user)
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    const { secret } = await enrolElsewhere(user)
    await page.getByLabel('New address').fill('left@example.com')
    await page.getByRole('button', { name: 'Send the mail' }).click()
    await page.getByRole('heading', { name: 'Is it still you?' }).waitFor()
    await page.getByRole('textbox', { name: 'Password', exact: true }).fill(user.password)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Code from your authenticator').fill(authenticatorCode(secret, 1))
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('A mail is on its way to the new address.').waitFor()
    await mailTo('left@example.com', 'email-change')

    await page.getByRole('button', { name: 'Delete my account' }).click()
    await page.getByRole('button', { name: 'Delete it' }).click()
    await page.getByRole('heading', { name: 'Your account will be erased on' }).waitFor()
    assert.equal(await logIn(user.username, user.password), 401)

    const { link } = await mailTo(user.email, 'deletion-requested')
    const kept = await openConsole(t, browser, link)
    await kept.getByRole('button', { name: 'Keep the account' }).click()
    await kept.getByRole('heading', { name: 'Your account is kept' }).waitFor()
  })

  test('the console of an administrator asks who it is before it makes a key', async (t) => {
    const page = await openConsole(t, browser, consoleOf(identity))
    await signInDemo(page, 'admin')
    await goTo(page, 'keys')
    await changeDatabase(
      database,
      `update sessions set authenticated_at = '2020-01-01T00:00:00.000Z'`,
    )
    const make = async (name: string) => {
      await page.getByLabel('Name').fill(name)
      await page.getByRole('button', { name: 'Make a key' }).click()
      await page.getByRole('heading', { name: 'Is it still you?' }).waitFor()
    }
    const dialog = page.getByRole('dialog', { name: 'Is it still you?' })

    await make('refused')
    assert.deepEqual(await accessibilityFaults(page), [])
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Try again, and confirm that it is you.').waitFor()
    await make('shop')
    await dialog.getByLabel('Password').fill('wrong')
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.getByText('is not the current password').waitFor()
    await dialog.getByLabel('Password').fill('password123123')
    await dialog.getByRole('button', { name: 'Continue' }).click()

    await page.getByText('it is not shown again').waitFor()
    await dialog.waitFor({ state: 'hidden' })
    assert.equal(await page.getByRole('cell', { name: 'refused' }).count(), 0)
  })
})
