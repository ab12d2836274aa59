import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { suiteCleanup } from '../suite-cleanup.ts'
import { accessibilityFaults, countRoles } from './accessibility.ts'
import { samplePng, textFile } from './sample-files.ts'
import { consoleOf, goTo, openConsole, signIn } from './watched-page.ts'

const skip = await browserSkip()
/** Set it to a folder to get a picture of every page in both themes and two widths. */
const pictures = process.env.E2E_SCREENSHOTS

const NEWEST = 'payments/newest'

type Visit = {
  service: string
  pages: string[]
  role?: 'admin'
  /** May tell where the newest thing it made is. */
  prepare?(page: Page): Promise<string | undefined>
}

const VISITS: Visit[] = [
  {
    service: 'identity',
    role: 'admin',
    pages: ['', 'session', 'profile', 'passkeys', 'users', 'audit', 'health'],
  },
  {
    service: 'storage-full',
    role: 'admin',
    pages: ['', 'files/1', 'storage', 'session', 'profile', 'users', 'audit', 'health'],
    prepare: uploadSamples,
  },
  { service: 'storage-key', pages: [''], prepare: uploadOne },
  {
    service: 'payments',
    pages: ['', NEWEST, 'checkout', 'payments', 'webhooks', 'customers', 'sandbox'],
    prepare: createCheckouts,
  },
]

describe('every console, in both themes', { skip, concurrency: 2 }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared)
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`the landing page is accessible (${colorScheme})`, async (t) => {
      const page = await openConsole(t, browser, suite.landingUrl, { colorScheme })
      await page.getByRole('heading', { name: 'Everything is running.' }).waitFor()
      assert.deepEqual(await faultsOf(page, `landing-${colorScheme}`), [])
    })

    for (const { service, pages, role, prepare } of VISITS)
      test(`${service} is accessible and fits a phone (${colorScheme})`, async (t) => {
        const address = consoleOf(suite.urlOf(service))
        const page = await openConsole(t, browser, address, { colorScheme })
        const faults = await faultsOf(page, `${service}-start-${colorScheme}`)
        if (role) {
          await goTo(page, 'session')
          await page.getByRole('form', { name: 'Sign in' }).waitFor()
          faults.push(...(await faultsOf(page, `${service}-sign-in-${colorScheme}`)))
          await signIn(page, role)
        }
        const newest = await prepare?.(page)
        for (const path of pages) {
          await goTo(page, path === NEWEST ? (newest ?? '') : path)
          await page.locator('.skeleton').first().waitFor({ state: 'detached' })
          const name = `${service}-${path.replace('/', '-') || 'home'}-${colorScheme}`
          faults.push(...(await faultsOf(page, name)))
        }
        assert.deepEqual(faults, [])
      })
  }

  test('a table that a phone shows as a list is a table to a screen reader', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')))
    await signIn(page, 'admin')
    await page.setViewportSize({ width: 390, height: 844 })
    await goTo(page, 'users')
    await page.getByRole('cell', { name: 'admin@example.com' }).waitFor()

    const layout = await page.evaluate('getComputedStyle(document.querySelector("td")).display')
    const roles = await countRoles(page, ['table', 'rowgroup', 'row', 'columnheader', 'cell'])

    assert.equal(layout, 'block')
    assert.deepEqual(roles, {
      table: 1,
      rowgroup: 2,
      row: await page.locator('tr').count(),
      columnheader: await page.locator('th').count(),
      cell: await page.locator('td').count(),
    })
  })
})

/** What is hard to use, and whether the page scrolls sideways on the smallest phone. */
async function faultsOf(page: Page, name: string): Promise<string[]> {
  // The inspector is the same on every page of a console.
  const withoutInspector = !/-(start|home)-/.test(name)
  const found = await accessibilityFaults(page, { withoutInspector })
  const faults = found.map((fault) => `${name} ${fault}`)
  await page.setViewportSize({ width: 320, height: 640 })
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
  if (pictures) await photograph(page, pictures, name)
  await page.setViewportSize({ width: 1280, height: 900 })
  return overflow ? [...faults, `${name} is ${overflow} px too wide for 320 px`] : faults
}

/** The whole page in each picture: a wide window scrolls its middle, a narrow one the document. */
async function photograph(page: Page, folder: string, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const [width, height] of [
    [390, 844],
    [1280, 900],
  ] as const) {
    await page.setViewportSize({ width, height })
    const hidden = await page.evaluate<number>(`(() => {
      const main = document.querySelector('.shell main') ?? document.documentElement
      return main.scrollHeight - main.clientHeight
    })()`)
    if (width > 1024) await page.setViewportSize({ width, height: height + hidden })
    await page.screenshot({ path: join(folder, `${name}-${width}.png`), fullPage: true })
  }
}

async function uploadSamples(page: Page): Promise<undefined> {
  await goTo(page, '')
  const files = [
    samplePng('Evening at the lake.png', 0),
    samplePng('Dunes.png', 1.3),
    samplePng('Northern hills.png', 2.2),
    textFile('notes.txt', 'Remember the milk.'),
  ]
  await page.getByLabel('Files to upload').setInputFiles(files)
  await page
    .locator('.uploads .badge.good')
    .nth(files.length - 1)
    .waitFor()
  await page.getByRole('button', { name: 'Clear finished' }).click()
}

async function uploadOne(page: Page): Promise<undefined> {
  await page.getByLabel('Files to upload').setInputFiles(samplePng('Harbour.png'))
  await page.getByText('image/png', { exact: true }).waitFor()
}

/** One is paid, so that the inbox has deliveries; the newest is open. */
async function createCheckouts(page: Page): Promise<string> {
  await createCheckout(page)
  const { origin, pathname } = new URL(await addressOf(page, 'Open the hosted page'))
  const headers = { 'content-type': 'application/json' }
  const pay = `${origin}/sandbox/api/sessions/${pathname.split('/').pop()}/pay`
  assert.ok((await fetch(pay, { method: 'POST', headers, body: '{}' })).ok)
  await goTo(page, '')
  await createCheckout(page)
  return (await addressOf(page, 'Watch the payment')).replace('#/', '')
}

async function createCheckout(page: Page): Promise<void> {
  await goTo(page, 'checkout')
  await page.getByRole('button', { name: 'Create the checkout' }).click()
}

async function addressOf(page: Page, link: string): Promise<string> {
  return (await page.getByRole('link', { name: link }).getAttribute('href')) ?? ''
}
