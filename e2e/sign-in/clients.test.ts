import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { accessibilityFaults } from '../consoles/accessibility.ts'
import { consoleOf, goTo, openConsole, signIn as signInDemo } from '../consoles/watched-page.ts'
import { startSuite } from '../stack.ts'
import { openVisitor, register, signIn, startApplication } from './application.ts'

const skip = await browserSkip()

describe('clients and grants in the console and on the account page', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let identity: string

  before(async () => {
    browser = await openBrowser(shared)
    identity = (await startSuite(shared, {}, ['identity'])).urlOf('identity')
  })

  test('an administrator creates, changes, rotates, disables and deletes a client', async (t) => {
    const page = await openConsole(t, browser, consoleOf(identity))
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
    const confirm = async (name: string, yes = 'Yes') => {
      await press(name)
      await page.getByRole('alert').getByRole('button', { name: yes, exact: true }).click()
    }
    await signInDemo(page, 'admin')
    await goTo(page, 'clients')
    await page.getByText('There are no clients yet.').waitFor()
    await page.getByLabel('Name').fill('Wiki')
    await page.getByLabel('Redirect addresses').fill('http://wiki.example/callback')
    await press('Create the client')
    await page.locator('.notice.bad, .fault').first().waitFor()
    await page.getByLabel('Redirect addresses').fill('https://wiki.example/callback')
    await press('Create the client')
    await page.getByText('it is not shown again').waitFor()
    const secret = await page.locator('.code pre').first().innerText()
    assert.match(secret.trim(), /^\S{43,}$/)
    assert.deepEqual(await accessibilityFaults(page), [])

    await page.getByRole('link', { name: 'Wiki' }).click()
    await page.getByRole('heading', { name: 'Its settings' }).waitFor()
    await page.getByLabel('Name').fill('Wiki of the shop')
    await press('Save')
    await page.getByText('The client is changed.').waitFor()
    for (const kind of ['openid-client', 'Auth.js', 'Spring Security', 'oauth2-proxy']) {
      await press(kind)
      await page.getByLabel(`Settings for ${kind}`).getByText(identity).first().waitFor()
    }
    await press('Copy the settings')
    assert.match(await page.evaluate('navigator.clipboard.readText()'), /oidc_issuer_url/)
    await confirm('Rotate the secret')
    await page.getByText('it is not shown again').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await confirm('Disable')
    await page.getByText('disabled', { exact: true }).waitFor()
    await confirm('Enable')
    await page.getByText('enabled', { exact: true }).waitFor()
    await confirm('Delete', 'Delete')

    await page.getByText('There are no clients yet.').waitFor()
  })

  test('users see what they have allowed, and take it back, and so do administrators', async (t) => {
    const user = await register(identity, 'granting')
    const shop = await startApplication(t, identity)
    const visitor = await openVisitor(t, browser)
    const allow = async () => {
      await visitor.goto(shop.authorize())
      await visitor.getByRole('button', { name: 'Allow' }).click()
      return shop.redeem(await shop.answered(visitor))
    }
    await visitor.goto(shop.authorize())
    await signIn(visitor, user)
    await visitor.getByRole('heading', { name: 'Allow Shop?' }).waitFor()
    await allow()

    await visitor.goto(`${identity}/account/`)
    await signIn(visitor, user)
    const section = visitor.getByRole('region', { name: 'Applications' })
    await section.getByText('Shop').first().waitFor()
    await section.getByText('see your e-mail address').waitFor()
    assert.deepEqual(await accessibilityFaults(visitor), [])
    await section.getByRole('button', { name: /^Remove/ }).click()
    await section
      .getByRole('button', { name: /^Remove/ })
      .first()
      .click()
    await section.waitFor({ state: 'detached' })
    await allow()

    const admin = await openConsole(t, browser, consoleOf(identity))
    await signInDemo(admin, 'admin')
    await goTo(admin, 'users')
    await admin
      .getByRole('button', { name: /granting/ })
      .first()
      .click()
    const grants = admin.getByRole('region', { name: 'Applications of granting' })
    await grants.getByText('Shop').first().waitFor()
    await grants.getByRole('button', { name: /^Revoke/ }).click()
    await grants.getByRole('button', { name: /^Yes/ }).click()
    await grants.waitFor({ state: 'detached' })

    await visitor.goto(shop.authorize())
    await visitor.getByRole('heading', { name: 'Allow Shop?' }).waitFor()
  })
})
