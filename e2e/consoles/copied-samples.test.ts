import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import { storageClient } from '@plinth/client'
import type { Browser, Locator, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { sampleFolder } from '../sample-folder.ts'
import { startSuite, takePayment } from '../stack.ts'
import { samplePng } from './sample-files.ts'
import { consoleOf, goTo, openConsole, sandboxPageOf, signIn } from './watched-page.ts'

const skip = await browserSkip()
/** Samples that run at the same time. */
const AT_ONCE = 4

const CONSOLES = [
  { service: 'identity', role: 'admin', addressOf: consoleOf },
  { service: 'storage-full', role: 'admin', addressOf: consoleOf },
  { service: 'storage-key', addressOf: consoleOf },
  { service: 'payments', addressOf: consoleOf },
  { service: 'provider-sandbox', addressOf: sandboxPageOf },
] as const

describe('every request that a console shows runs as copied', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>
  let folder: Awaited<ReturnType<typeof sampleFolder>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared)
    folder = await sampleFolder(shared)
    await takePayment(suite.urlOf)
    const storage = storageClient(suite.urlOf('storage-full'))
    await storage.logIn('admin', 'password123123')
    const { buffer, mimeType, name } = samplePng('lake.png')
    await storage.files.upload(new Blob([new Uint8Array(buffer)], { type: mimeType }), name)
  })

  for (const { service, addressOf, ...as } of CONSOLES)
    test(`of ${service}`, async (t: TestContext) => {
      const address = addressOf(suite.urlOf(service))
      const page = await openConsole(t, browser, address, {
        viewport: { width: 1440, height: 900 },
      })
      await page.locator('main h1').waitFor()
      if ('role' in as) await signIn(page, as.role)
      await visitEveryPage(page)
      const requests = page.locator('.exchange-list button')
      const count = await requests.count()

      const samples: Samples[] = []
      for (let at = 0; at < count; at += 1) samples.push(await samplesOf(page, requests.nth(at)))
      const faults: string[] = []
      for (let at = 0; at < count; at += AT_ONCE)
        faults.push(...(await Promise.all(samples.slice(at, at + AT_ONCE).map(faultsOf))).flat())

      assert.ok(count > 0)
      assert.deepEqual(faults, [])
    })

  /** What is wrong with the output of both samples of a request. */
  async function faultsOf({ title, command, code }: Samples): Promise<string[]> {
    const [status = ''] = /\d+$/.exec(title) ?? []
    const [curl, fetched] = await Promise.all([folder.curl(command), folder.client(code)])
    const isRefused = curl.code !== 0 || curl.output.trim() === '' || PROBLEM.test(curl.output)
    const isOther = !fetched.output.startsWith(`${status} `)
    return [
      ...(isRefused ? [`${title} with curl: ${curl.output} ${curl.errors}`] : []),
      ...(isOther ? [`${title} with fetch: ${fetched.output} ${fetched.errors}`] : []),
    ]
  }
})

const PROBLEM = /^\{"(type":"about:blank|timestamp)/

const PATHS = `[...document.querySelectorAll('nav.pages a[href^="#"]')].map(({ hash }) => hash.slice(2))`

async function visitEveryPage(page: Page): Promise<void> {
  for (const path of await page.evaluate<string[]>(PATHS)) {
    await goTo(page, path)
    await until(
      () => page.locator('.skeleton').count(),
      (count) => count === 0,
    )
  }
  const more = page.getByRole('button', { name: /^Show \d+ more$/ })
  if (await more.isVisible()) await more.click()
}

type Samples = { title: string; command: string; code: string }

async function samplesOf(page: Page, request: Locator): Promise<Samples> {
  await request.click()
  const [command, code] = [await copied(page, 'curl'), await copied(page, 'fetch')]
  return { title: await request.innerText(), command, code }
}

/** What the button puts into the clipboard. For two seconds after that its name is another. */
async function copied(page: Page, language: 'curl' | 'fetch'): Promise<string> {
  const panel = page.locator('.inspector')
  await panel.getByRole('button', { name: language, exact: true }).click()
  await page.evaluate("navigator.clipboard.writeText('')")
  await panel.getByRole('button', { name: /^Cop(y|ied)$/ }).click()
  return until(
    () => page.evaluate<string>('navigator.clipboard.readText()'),
    (text) => text !== '',
  )
}
