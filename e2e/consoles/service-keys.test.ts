import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { suiteCleanup } from '../suite-cleanup.ts'
import { accessibilityFaults } from './accessibility.ts'
import { consoleOf, goTo, openConsole, signIn } from './watched-page.ts'

const skip = await browserSkip()

describe('service keys in the consoles', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let urlOf: (service: string) => string

  before(async () => {
    browser = await openBrowser(shared)
    const folder = mkdtempSync(join(tmpdir(), 'plinth-keys-'))
    shared.after(async () => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }))
    const STORAGE_KEY_DATABASE_URL = `sqlite:${folder}/keys.db`
    urlOf = (await startSuite(shared, { STORAGE_KEY_DATABASE_URL })).urlOf
  })

  /** Makes a key with the first scope and returns the secret that the page shows, once. */
  async function makeKey(page: Page): Promise<string> {
    await page.getByLabel('Name').fill('shop')
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByText('it is not shown again').waitFor()
    const secret = await page.getByRole('region', { name: /^Key \d+$/ }).innerText()
    assert.match(secret.trim(), /^plk_test_\w{49}$/)
    return secret.trim()
  }

  test('identity: an administrator makes, rotates and revokes a key', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('identity')))
    await signIn(page, 'admin')
    await goTo(page, 'keys')
    await page.getByText('There are no keys yet').waitFor()

    const secret = await makeKey(page)
    await page.getByRole('button', { name: 'Rotate' }).click()
    await page.getByText('Copy key 2 now').waitFor()
    await page.getByRole('button', { name: 'Revoke' }).first().click()

    await page.getByText('revoked', { exact: true }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    const headers = { authorization: `Bearer ${secret}` }
    const body = new URLSearchParams({ token: 'x' })
    const request = { method: 'POST', headers, body }
    const reply = await fetch(`${urlOf('identity')}/oauth2/introspect`, request)
    assert.deepEqual(await reply.json(), { active: false })
  })

  test('storage, full edition: the page is for administrators', async (t) => {
    const other = await openConsole(t, browser, consoleOf(urlOf('storage-full')))
    await signIn(other, 'user')
    await goTo(other, 'keys')
    await other.getByText('ROLE_ADMIN').first().waitFor()
    const page = await openConsole(t, browser, consoleOf(urlOf('storage-full')))
    await signIn(page, 'admin')
    await goTo(page, 'keys')

    const secret = await makeKey(page)

    const headers = { authorization: `Bearer ${secret}` }
    assert.equal((await fetch(`${urlOf('storage-full')}/file/list`, { headers })).status, 200)
  })

  test('storage, key edition: the configured key makes others', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('storage-key')))
    await goTo(page, 'keys')

    const secret = await makeKey(page)

    const headers = { 'x-api-key': secret }
    assert.equal((await fetch(`${urlOf('storage-key')}/file/list`, { headers })).status, 200)
  })

  test('payments: the page says where keys are made when it cannot make them', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('payments'), 'access'))

    await page.getByText('plinth keys --help').waitFor()
  })
})
