import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { addVirtualAuthenticator } from './virtual-authenticator.ts'
import { goTo, openConsole } from './watched-page.ts'

const skip = await browserSkip()

describe('the account page', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let identity: string

  before(async () => {
    browser = await openBrowser(shared)
    identity = (await startSuite(shared)).urlOf('identity')
  })

  test('registers an account and adds its first passkey, which then signs in', async (t) => {
    const page = await openConsole(t, browser, `${identity}/account/`)
    await addVirtualAuthenticator(page)
    await page.getByRole('button', { name: 'Create an account' }).click()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByLabel('Username').fill('ada')
    await page.getByLabel('E-mail address').fill('ada@localhost')
    await page.getByLabel('Password', { exact: true }).fill('a long passphrase')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByText('ada', { exact: false }).first().waitFor()

    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page
      .getByRole('button', { name: /^Remove/ })
      .first()
      .waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Sign out' }).first().click()
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()

    await page.getByRole('button', { name: 'Add a passkey' }).waitFor()
  })

  test('the console signs in with that passkey, and says why another sign-in by passkey ended', async (t) => {
    const page = await openConsole(t, browser, `${identity}/api-test/index.html#/session`)
    await addVirtualAuthenticator(page)
    const form = page.getByRole('form', { name: 'Register' })
    await form.getByLabel('Username').fill('grace')
    await form.getByLabel('E-mail').fill('grace@localhost')
    await form.getByLabel('Password').fill('a long passphrase')
    await form.getByRole('button', { name: 'Create account' }).click()
    await page.getByText('Signed in as grace.').waitFor()
    await goTo(page, 'passkeys')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByRole('button', { name: 'Remove This device' }).waitFor()
    await goTo(page, 'session')
    await page.locator('main').getByRole('button', { name: 'Log out' }).click()
    const byPasskey = page.getByRole('button', { name: 'Sign in with a passkey' })

    await page.route('**/login/webauthn', (route) => route.abort())
    await byPasskey.click()
    await page
      .locator('main')
      .getByRole('alert')
      .getByText('The service does not answer')
      .or(page.getByText('The server did not answer.'))
      .first()
      .waitFor()
    await page.unroute('**/login/webauthn')
    await byPasskey.click()

    await page.getByText('Signed in as grace.').waitFor()
  })

  test('a forgotten password is chosen anew from the console, with the inbox for development', async (t) => {
    const page = await openConsole(t, browser, `${identity}/api-test/index.html#/session`)
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByLabel('E-mail address').fill('user@example.com')
    await page.getByRole('button', { name: 'Send the mail' }).click()
    await page.getByRole('heading', { name: 'Check your inbox' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('link', { name: 'Back to sign-in' }).waitFor()

    await page.getByRole('link', { name: /inbox of the console/ }).click()

    await page.getByText('user@example.com').first().waitFor()
    await page.locator('main[data-page=mail]').waitFor()
  })

  test('a reset of an address that was never confirmed says that the passkey was removed', async (t) => {
    const page = await openConsole(t, browser, `${identity}/account/`)
    await addVirtualAuthenticator(page)
    await page.getByRole('button', { name: 'Create an account' }).click()
    await page.getByLabel('Username').fill('unconfirmed')
    await page.getByLabel('E-mail address').fill('unconfirmed@localhost')
    await page.getByLabel('Password', { exact: true }).fill('a long passphrase')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page
      .getByRole('button', { name: /^Remove/ })
      .first()
      .waitFor()
    await page.goto(`${identity}/account/#forgot`)
    await page.getByRole('textbox', { name: 'E-mail address' }).fill('unconfirmed@localhost')
    await page.getByRole('button', { name: 'Send the mail' }).click()
    const mail = await until(
      async () => {
        const reply = await fetch(`${identity}/api/dev/mail?to=unconfirmed%40localhost`)
        return ((await reply.json()) as { kind: string; link: string }[]).find(
          ({ kind }) => kind === 'password-reset',
        )
      },
      (found) => found !== undefined,
    )
    const reset = await openConsole(t, browser, mail?.link ?? '')
    await reset.getByRole('textbox', { name: 'New password' }).fill('another long passphrase')
    await reset.getByRole('button', { name: 'Save the password' }).click()

    await reset.getByText('This address had never been confirmed').waitFor()

    await reset.getByRole('listitem').getByText('Passkeys').waitFor()
    assert.deepEqual(await accessibilityFaults(reset), [])
  })

  test('the console leads to the API reference', async (t) => {
    const viewport = { width: 1440, height: 900 }
    const page = await openConsole(t, browser, `${identity}/api-test/index.html`, { viewport })

    await page.getByRole('link', { name: 'API reference' }).click()

    await page.getByRole('heading', { name: 'Plinth identity', level: 1 }).waitFor()
  })
})
