import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { storageClient } from '@plinth/client'
import type { Browser } from 'playwright-core'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { suiteCleanup } from '../suite-cleanup.ts'
import { accessibilityFaults } from './accessibility.ts'
import { consoleOf, goTo, openConsole, signIn } from './watched-page.ts'

const skip = await browserSkip()

describe('limits that an administrator changes in the console', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let storage: string

  before(async () => {
    browser = await openBrowser(shared)
    storage = (await startSuite(shared, {}, ['identity', 'storage-full'])).urlOf('storage-full')
  })

  test('apply to the next upload, are in the audit, and can be dropped again', async (t) => {
    const client = storageClient(storage)
    await client.logIn('user', 'password123123')
    const page = await openConsole(t, browser, consoleOf(storage))
    await signIn(page, 'admin')
    await goTo(page, 'storage')
    const form = page.getByRole('form', { name: 'Limits' })
    const space = form.getByLabel('Space for each user')
    const save = async () => {
      await form.getByRole('button', { name: 'Save the limits' }).click()
      await form.getByRole('button', { name: 'Yes' }).click()
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
})
