import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import { paymentsClient, storageClient } from '@plinth/client'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite, takePayment } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { WIDE } from './both-widths.ts'
import { consoleOf, goTo, letGoOn, openConsole, sandboxPageOf, signIn } from './watched-page.ts'

const skip = await browserSkip()

/** The pages of each console that show what the service knows, and those of one record. */
const PAGES: Record<string, { as?: 'admin'; paths: string[] }> = {
  identity: {
    as: 'admin',
    paths: [
      ...['profile', 'passkeys', 'security', 'mail', 'clients', 'providers'],
      ...['users', 'users/1', 'keys', 'events', 'audit'],
    ],
  },
  'storage-full': {
    as: 'admin',
    paths: ['', 'files/ID', 'trash', 'owners', 'storage', 'users', 'keys', 'events', 'audit'],
  },
  payments: { paths: ['payments', 'payments/ID', 'webhooks', 'events', 'customers'] },
  'provider-sandbox': {
    paths: ['sessions', 'refunds', 'books', 'deliveries', 'switches', 'faults', 'requests'],
  },
}

describe('on a slow network', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>
  const ids: Record<string, string> = {}

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared)
    const storage = storageClient(suite.urlOf('storage-full'))
    await storage.logIn('admin', 'password123123')
    const file = await storage.files.upload(new Blob(['text'], { type: 'text/plain' }), 'a.txt')
    await takePayment(suite.urlOf)
    const { content } = await paymentsClient(suite.urlOf('payments')).payments.list()
    Object.assign(ids, { 'storage-full': file.id, payments: content[0]?.id })
  })

  for (const [service, { as, paths }] of Object.entries(PAGES))
    test(`every page of ${service} says that it loads`, async (t) => {
      const page = await open(t, service)
      if (as) await signIn(page, as)

      const silent: string[] = []
      for (const path of paths) {
        const slow = await holdReplies(page)
        await goTo(page, path.replace('ID', ids[service] ?? ''))
        const loading = page.locator('main .skeleton').first()
        const isShown = await loading.waitFor({ timeout: 30_000 }).then(
          () => true,
          () => false,
        )
        if (!isShown) silent.push(path)
        else if (path === paths[0]) assert.deepEqual(await accessibilityFaults(page), [])
        await slow.release()
        await until(
          () => page.locator('main .skeleton').count(),
          (count) => count === 0,
        )
        // Another page, whose replies are not held, so that the next one is opened anew.
        await page.evaluate("location.hash = '#/nowhere'")
      }

      assert.deepEqual(silent, [])
    })

  test('a console that comes back from a sign-in says that it opens', async (t) => {
    const page = await open(t, 'identity')
    await goTo(page, 'session')
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    await page.route('**/oauth2/token', async (route) => {
      await released
      await route.continue()
    })

    await page.getByRole('button', { name: 'Sign in with Plinth' }).click()
    await page.getByLabel('Username').fill('user')
    await page.getByLabel('Password', { exact: true }).fill('password123123')
    await page.keyboard.press('Enter')
    await page.getByText('Opening the console').waitFor()
    release()

    await page.locator('.session-bar', { hasText: 'user' }).waitFor()
  })

  async function open(t: TestContext, service: string): Promise<Page> {
    const url = suite.urlOf(service)
    const address = service === 'provider-sandbox' ? sandboxPageOf(url) : consoleOf(url)
    const page = await openConsole(t, browser, address, { viewport: WIDE })
    await page.locator('main h1').waitFor()
    return page
  }
})

/** No reply of the service arrives before the release. */
async function holdReplies(page: Page): Promise<{ release(): Promise<void> }> {
  const { promise: released, resolve } = Promise.withResolvers<void>()
  const calls = /\/(api|file|sandbox\/api)(\/|\?|$)/
  await page.route(calls, async (route) => {
    await released
    await letGoOn(route)
  })
  return {
    release: async () => {
      resolve()
      await page.unroute(calls)
    },
  }
}
