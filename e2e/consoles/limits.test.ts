import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { identityClient, storageClient } from '@plinth/client'
import type { Browser } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { consoleOf, goTo, openConsole, signIn } from './watched-page.ts'

const skip = await browserSkip()
const PASSWORD = 'password123123'

describe('limits that an administrator changes in the console', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let storage: string
  let identity: string

  before(async () => {
    browser = await openBrowser(shared)
    const { urlOf } = await startSuite(shared, {}, ['identity', 'storage-full'])
    storage = urlOf('storage-full')
    identity = urlOf('identity')
  })

  test('apply to the next upload, are in the audit, and can be dropped again', async (t) => {
    const client = storageClient(storage)
    await client.logIn('user', PASSWORD)
    const page = await openConsole(t, browser, consoleOf(storage))
    await signIn(page, 'admin')
    await goTo(page, 'storage')
    const form = page.getByRole('form', { name: 'Limits' })
    const space = form.getByLabel('Space for each user')
    const save = async () => {
      await form.getByRole('button', { name: 'Save the limits' }).click()
      await form.getByText('Save them?').waitFor()
      await form.getByRole('button', { name: 'Save the limits' }).click()
    }

    await space.fill('plenty')
    await save()
    await form.getByText('This is not an amount.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await space.fill('1.5 kB')
    await form.getByLabel('Days in the trash').fill('400')
    await save()
    await form.getByText('At most 365.').waitFor()
    await form.getByLabel('Days in the trash').fill('7')
    await save()
    await page.getByText('The limits apply now.').waitFor()
    await form
      .getByText(/^For files deleted from now on\. Changed .*; the settings say 30\.$/)
      .waitFor()

    const { maxBytes } = await client.usage.get()
    assert.equal(maxBytes, 1536)
    assert.deepEqual(await accessibilityFaults(page), [])
    await form.getByRole('button', { name: 'As in the settings' }).click()
    await form.getByRole('button', { name: 'Drop them' }).click()
    await form
      .getByText(/ Changed .*; the settings say/)
      .first()
      .waitFor({ state: 'detached' })
    assert.equal((await client.usage.get()).maxBytes, null)
    assert.equal(await space.inputValue(), '')
    await goTo(page, 'audit')
    await page.getByText('1536, now 0 as in the settings').first().waitFor()
  })

  test('the registration is closed and opened again, and the audit says by whom', async (t) => {
    const client = identityClient(identity)
    const ada = { username: 'ada', email: 'ada@example.com', password: PASSWORD }
    const page = await openConsole(t, browser, consoleOf(identity))
    await signIn(page, 'admin')
    await goTo(page, 'users')

    await page.getByRole('button', { name: 'Close the registration' }).click()
    await page.getByRole('button', { name: 'Close it' }).click()
    await page.getByText(/^Closed: only administrators .* the settings say open\.$/).waitFor()

    assert.deepEqual(await accessibilityFaults(page), [])
    await assert.rejects(client.register(ada), { code: 'REGISTRATION_CLOSED' })
    const stranger = await openConsole(t, browser, consoleOf(identity, 'session'))
    await stranger.getByRole('form', { name: 'Sign in' }).waitFor()
    assert.equal(await stranger.getByRole('form', { name: 'Register' }).count(), 0)
    await page.getByRole('button', { name: 'As in the settings' }).click()
    await page.getByText('Open: everyone may register.').waitFor()
    await client.register(ada)
    await goTo(page, 'audit')
    await page.getByText('open, now closed').first().waitFor()
  })
})
