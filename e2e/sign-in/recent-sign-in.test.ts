import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { accessibilityFaults } from '../consoles/accessibility.ts'
import { consoleOf, goTo, openConsole, signIn as signInDemo } from '../consoles/watched-page.ts'
import { changeDatabase } from '../second-connection.ts'
import { startSuite } from '../stack.ts'
import { openVisitor, signIn } from './application.ts'

const skip = await browserSkip()
const ADMIN = { username: 'admin', password: 'password123123' }

describe('with SUITE_REAUTHENTICATE and an old sign-in', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared, { SUITE_REAUTHENTICATE: 'true', PAYMENTS_ACCESS: 'issuer' })
  })

  /** As if all users of a service had signed in long ago. */
  const age = (service: string) =>
    changeDatabase(
      join(suite.folder, `${service}.db`),
      `update sessions set authenticated_at = '2020-01-01T00:00:00.000Z'`,
    )
  const makeKey = async (page: Page, name: string) => {
    await page.getByLabel('Name').fill(name)
    await page.getByRole('button', { name: 'Make a key' }).click()
  }
  const dialogOf = (page: Page) => page.getByRole('dialog', { name: 'Is it still you?' })

  test('the storage console asks for the password, and then continues', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('storage-full')))
    await signInDemo(page, 'admin')
    await age('storage-full')
    await goTo(page, 'session')
    await page.getByRole('button', { name: 'Refresh now' }).click()
    await page.getByText('rotated once').waitFor()
    await goTo(page, 'keys')

    await makeKey(page, 'shop')
    const dialog = dialogOf(page)
    await dialog.waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await dialog.getByLabel('Password').fill(ADMIN.password)
    await dialog.getByRole('button', { name: 'Sign in again' }).click()

    await page.getByText('it is not shown again').waitFor()
    await dialog.waitFor({ state: 'hidden' })
  })

  test('the payments console leads to a new sign-in at identity, and back to its page', async (t) => {
    const page = await openVisitor(t, browser)
    const address = consoleOf(suite.urlOf('payments'), 'access')
    await page.goto(address)
    await page.getByRole('button', { name: 'Sign in with Plinth' }).click()
    await signIn(page, ADMIN)
    await page.getByText('Signed in as admin').first().waitFor()
    await age('identity')
    await page.reload()
    await page.getByText('Signed in as admin').first().waitFor()

    await makeKey(page, 'refused')
    await dialogOf(page).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await dialogOf(page).getByRole('button', { name: 'Sign in again' }).click()
    await signIn(page, ADMIN)
    await page.getByText('Signed in as admin').first().waitFor()
    await makeKey(page, 'shop')

    await page.getByText('it is not shown again').waitFor()
    assert.equal(page.url(), address)
    assert.equal(await page.getByRole('cell', { name: 'refused' }).count(), 0)
  })
})
