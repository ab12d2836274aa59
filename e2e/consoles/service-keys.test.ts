import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { consoleOf, goTo, openConsole, signIn } from './watched-page.ts'

const skip = await browserSkip()

/** An application that accepts every event; `ids` collects the ids of the deliveries. */
async function startReceiver(t: TestContext) {
  const ids: unknown[] = []
  const server = createServer((request, response) => {
    ids.push(request.headers['webhook-id'])
    request.resume().once('end', () => response.writeHead(204).end())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hooks`, ids }
}

describe('service keys and events in the consoles', { skip }, () => {
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

  /** Creates a key with the first scope and returns the secret, which the page shows once. */
  async function makeKey(page: Page): Promise<string> {
    await page.getByLabel('Name').fill('shop')
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByText('it is not shown again').waitFor()
    const secret = await page.getByRole('region', { name: /^Key \d+$/ }).innerText()
    assert.match(secret.trim(), /^plk_test_\w{49}$/)
    return secret.trim()
  }

  test('identity: an administrator creates, rotates and revokes a key', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('identity')))
    await signIn(page, 'admin')
    await goTo(page, 'keys')
    await page.getByRole('cell', { name: 'chosen in the settings', exact: true }).waitFor()

    const secret = await makeKey(page)
    await page.getByRole('button', { name: 'Rotate shop' }).click()
    await page.getByRole('button', { name: 'Yes shop' }).click()
    await page.getByText('Copy key 3 now').waitFor()
    await page.getByRole('button', { name: 'Revoke shop' }).first().click()
    await page.getByRole('alert').getByRole('button', { name: 'Revoke shop' }).click()

    await page.getByText('revoked', { exact: true }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    const headers = { authorization: `Bearer ${secret}` }
    const body = new URLSearchParams({ token: 'x' })
    const request = { method: 'POST', headers, body }
    const reply = await fetch(`${urlOf('identity')}/oauth2/introspect`, request)
    assert.deepEqual(await reply.json(), { active: false })
    await goTo(page, 'events')
    await page.getByRole('link', { name: 'service_key.rotated' }).waitFor()
  })

  test('a key that has expired is called so, and can no longer be changed', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('identity')))
    await page.route('**/api/service-keys', async (route) => {
      const response = await route.fetch()
      if (!response.ok()) return route.fulfill({ response })
      const [key] = (await response.json()) as object[]
      const ended = { ...key, revokedAt: null, expiresAt: '2026-01-02T12:00:00Z' }
      return route.fulfill({ response, json: [ended] })
    })
    await signIn(page, 'admin')
    await goTo(page, 'keys')

    await page.getByText('expired', { exact: true }).waitFor()

    assert.equal(await page.getByText('expires soon').count(), 0)
    assert.equal(await page.getByRole('button', { name: /^(Rotate|Revoke)/ }).count(), 0)
  })

  test('storage, full edition: the page is for administrators', async (t) => {
    const other = await openConsole(t, browser, consoleOf(urlOf('storage-full')))
    await signIn(other, 'user')
    await goTo(other, 'keys')
    await other.getByText('Sign in as an administrator to manage service keys.').waitFor()
    const page = await openConsole(t, browser, consoleOf(urlOf('storage-full')))
    await signIn(page, 'admin')
    await goTo(page, 'keys')

    const secret = await makeKey(page)

    const headers = { authorization: `Bearer ${secret}` }
    assert.equal((await fetch(`${urlOf('storage-full')}/file/list`, { headers })).status, 200)
    await goTo(other, 'events')
    await other.getByText('Sign in as an administrator to see events.').waitFor()
    await goTo(page, 'events')
    await page.getByText('There are no endpoints yet').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('storage, key edition: the configured key can create others', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('storage-key')))
    await goTo(page, 'keys')

    const secret = await makeKey(page)

    const headers = { 'x-api-key': secret }
    assert.equal((await fetch(`${urlOf('storage-key')}/file/list`, { headers })).status, 200)
  })

  test('payments: the page says where to create keys when it cannot do so itself', async (t) => {
    const page = await openConsole(t, browser, consoleOf(urlOf('payments'), 'access'))

    await page.getByText('plinth keys create --help').waitFor()
  })

  test('payments: an endpoint is added and tested, and its event is replayed', async (t) => {
    const receiver = await startReceiver(t)
    const page = await openConsole(t, browser, consoleOf(urlOf('payments'), 'events'))
    await page.getByLabel('Address').fill(receiver.url)
    await page.getByRole('button', { name: 'Add an endpoint' }).click()
    const secret = await page.getByRole('region', { name: 'The secret' }).innerText()
    assert.match(secret.trim(), /^whsec_/)
    await page.getByRole('button', { name: 'Copy the verifier code' }).click()
    const copied = await page.evaluate('navigator.clipboard.readText()')
    assert.match(String(copied), /verifyWebhook/)

    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByRole('link', { name: 'See its deliveries' }).click()
    await until(
      () => receiver.ids.length,
      (count) => count === 2,
    )
    await page.getByRole('button', { name: 'Send again' }).click()
    await until(
      () => receiver.ids.length,
      (count) => count === 3,
    )

    const forward = {
      url: 'http://localhost:3000/hooks',
      durationMs: 7,
      status: null,
      error: 'down',
    }
    await fetch(`${urlOf('payments')}/api/events/${receiver.ids[1]}/forwards`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(forward),
    })

    assert.equal(receiver.ids[2], receiver.ids[1])
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByRole('cell', { name: 'replay' }).waitFor()
    await page.getByRole('table', { name: 'Forwards' }).getByText(forward.url).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])

    await goTo(page, 'events')
    for (const button of ['New secret', 'Delete']) {
      await page.getByRole('button', { name: `${button} http` }).click()
      await page.getByRole('button', { name: 'Yes http' }).click()
    }
    await page.getByText('There are no endpoints yet').waitFor()
  })
})
