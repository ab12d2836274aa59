import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults, countRoles } from './accessibility.ts'
import { PHONE, WIDE } from './both-widths.ts'
import { samplePng, textFile } from './sample-files.ts'
import { consoleOf, goTo, openConsole, sandboxPageOf, signIn } from './watched-page.ts'

const skip = await browserSkip()
/** Set this to a folder to get a screenshot of every page in both themes and at two widths. */
const pictures = process.env.E2E_SCREENSHOTS

const NEWEST = 'payments/newest'
const NEWEST_EVENT = 'events/newest'

type Visit = {
  service: string
  /** The address of its console, if it is not the usual one. */
  addressOf?(service: string): string
  pages: string[]
  role?: 'admin'
  /** May return the paths of the pages about the newest things it created. */
  prepare?(page: Page): Promise<Record<string, string> | undefined>
  /** What to do on a page before it is checked. */
  acts?: Record<string, (page: Page) => Promise<void>>
}

/** Every page that shows the role of a user. */
const WITH_ROLES = ['profile', 'users']

const VISITS: Visit[] = [
  {
    service: 'identity',
    role: 'admin',
    pages: [
      '',
      'session',
      'profile',
      'passkeys',
      'security',
      'mail',
      'clients',
      'providers',
      'users',
      'keys',
      'events',
      'audit',
      'health',
    ],
    prepare: requestReset,
    acts: { security: beginEnrolment, mail: openMail, users: manageOne },
  },
  {
    service: 'storage-full',
    role: 'admin',
    pages: [
      '',
      '?in=%2Fholidays',
      'files/1',
      'trash',
      'owners',
      'owners/1',
      'storage',
      'session',
      'profile',
      'users',
      'keys',
      'events',
      'audit',
      'health',
    ],
    prepare: uploadSamples,
    acts: { users: manageOne },
  },
  { service: 'storage-key', pages: ['', 'keys'], prepare: uploadOne },
  {
    service: 'payments',
    pages: [
      '',
      NEWEST,
      'checkout',
      'payments',
      'webhooks',
      'customers',
      'events',
      NEWEST_EVENT,
      'access',
    ],
    prepare: createCheckouts,
  },
  {
    service: 'provider-sandbox',
    addressOf: sandboxPageOf,
    pages: [
      '',
      'sessions',
      'refunds',
      'books',
      'clock',
      'deliveries',
      'deliveries/1',
      'switches',
      'faults',
      'requests',
      'scenario',
    ],
    prepare: addFaultAndSession,
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

  test('the landing page is accessible', async (t) => {
    const page = await openConsole(t, browser, suite.landingUrl)
    await page.getByRole('heading', { name: 'Everything is running.' }).waitFor()
    assert.deepEqual(await faultsOf(page, 'landing'), [])
  })

  test('the pages that mails link to are accessible and fit a phone', async (t) => {
    const page = await openConsole(t, browser, `${suite.urlOf('identity')}/account/`)
    const faults = await faultsOf(page, 'account-forgot')
    for (const step of ['reset', 'verify', 'email', 'undo', 'keep', 'alarm']) {
      await page.evaluate(`location.hash = '#${step}=unknown'`)
      await page.locator(`main[data-step="${step}"] h1`).waitFor()
      faults.push(...(await faultsOf(page, `account-${step}`)))
    }
    assert.deepEqual(faults, [])
  })

  for (const { service, addressOf = consoleOf, pages, role, prepare, acts } of VISITS)
    test(`${service} is accessible and fits a phone`, async (t) => {
      const page = await openConsole(t, browser, addressOf(suite.urlOf(service)))
      const faults = await faultsOf(page, `${service}-start`)
      if (role) {
        await goTo(page, 'session')
        await page.getByRole('form', { name: 'Sign in' }).waitFor()
        faults.push(...(await faultsOf(page, `${service}-sign-in`)))
        await signIn(page, role)
      }
      const newest = await prepare?.(page)
      for (const path of pages) {
        await goTo(page, newest?.[path] ?? path)
        await page.locator('.skeleton').first().waitFor({ state: 'detached' })
        await acts?.[path]?.(page)
        if (role && WITH_ROLES.includes(path))
          await page
            .locator('main .badge', { hasText: /^administrator$/ })
            .first()
            .waitFor()
        faults.push(...(await faultsOf(page, `${service}-${path.replace('/', '-') || 'home'}`)))
      }
      assert.deepEqual(faults, [])
    })

  test('a table that a phone shows as a list is still a table to a screen reader', async (t) => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf('identity')))
    await signIn(page, 'admin')
    await page.setViewportSize(PHONE)
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

/** The parts of the page that have a scrollbar of their own. */
const SCROLLING_PARTS = `[...document.querySelectorAll('*')]
  .filter((part) => /auto|scroll/.test(getComputedStyle(part).overflowY))
  .filter((part) => part.scrollHeight > part.clientHeight + 1)
  .map((part) => part.tagName + '.' + part.className)`

/** A theme changes only the colours, and a width everything but the colours. */
const LOOKS = [
  { colorScheme: 'light', size: WIDE },
  { colorScheme: 'dark', size: PHONE },
] as const

/** Faults in either theme and at either width, and overflow on the smallest phone. */
async function faultsOf(page: Page, name: string): Promise<string[]> {
  if (pictures) await photograph(page, pictures, name)
  const faults: string[] = []
  // The inspector is the same on every page of a console, and on a phone it is hidden in a sheet.
  const withoutInspector = !/-(start|home)$/.test(name)
  for (const { colorScheme, size } of LOOKS) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize(size)
    faults.push(...(await accessibilityFaults(page, { withoutInspector })))
    const scrolling = await page.evaluate<string[]>(SCROLLING_PARTS)
    if (scrolling.length > 2) faults.push(`scrolls in ${scrolling.join(', ')}`)
  }
  faults.push(...(await page.evaluate<string[]>(TECHNICAL_WORDS)))
  faults.push(...(await page.evaluate<string[]>(TABS_AND_CODE)))
  await page.setViewportSize({ width: 320, height: 640 })
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
  if (overflow) faults.push(`is ${overflow} px too wide for 320 px`)
  await page.setViewportSize(WIDE)
  if (!withoutInspector)
    faults.push(...(await accessibilityFaults(page, { part: 'body', rules: 'colours' })))
  return faults.map((fault) => `${name} ${fault}`)
}

/** Finds status codes and setting names in sentences, and roles not called “user” or “administrator”. */
const TECHNICAL_WORDS = `(() => {
  const found = []
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode
    if (parentElement.closest('code, pre')) continue
    const isLabel = parentElement.closest('.badge, option')
    if (/\\brole[ _-](admin|user)\\b/i.test(data) || (isLabel && /^(admin|Administrator|User)$/.test(data.trim())))
      found.push('names a role "' + data + '"')
    if (parentElement.closest('.badge')) continue
    if (/\\b[345]\\d\\d: |\\b(SUITE|IDENTITY|STORAGE|PAYMENTS|PROVIDER|SANDBOX)_[A-Z]/.test(data))
      found.push('says "' + data + '"')
  }
  return found
})()`

/** Only links that open a tab have the icon for it; JSON is coloured and can wrap. */
const TABS_AND_CODE = `(() => {
  const withIcon = [...document.querySelectorAll('path[d="M14 4h6v6M20 4l-9 9M18 14v6H4V6h6"]')]
    .map((path) => path.closest('a, button'))
  const opening = [...document.querySelectorAll('a[target="_blank"]')]
  const plain = [...document.querySelectorAll('.code pre')]
    .filter((code) => /^\\s*[[{].*"/s.test(code.textContent))
    .filter((code) => !code.querySelector('.json-name, .json-text') ||
      (/"[^"\\n]*[/_.-][a-zA-Z0-9]{3}/.test(code.textContent) && !code.querySelector('wbr')))
  return [
    ...withIcon.filter((link) => !opening.includes(link)).map((link) => 'opens no tab: ' + link?.textContent),
    ...opening.filter((link) => !withIcon.includes(link)).map((link) => 'opens a tab: ' + link.textContent),
    ...plain.map((code) => 'plain JSON: ' + code.textContent.slice(0, 80)),
  ]
})()`

/** Captures the whole page: a wide window scrolls its main part, a narrow one the document. */
async function photograph(page: Page, folder: string, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const colorScheme of ['light', 'dark'] as const)
    for (const { width, height } of [PHONE, WIDE]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height })
      const hidden = await page.evaluate<number>(`(() => {
        const main = document.querySelector('.shell main') ?? document.documentElement
        return main.scrollHeight - main.clientHeight
      })()`)
      if (width > 1024) await page.setViewportSize({ width, height: height + hidden })
      const path = join(folder, `${name}-${colorScheme}-${width}.png`)
      await page.screenshot({ path, fullPage: true })
    }
  await page.setViewportSize(WIDE)
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
  await page.getByRole('button', { name: 'Delete Northern hills.png' }).click()
  await page.getByText('Deleted Northern hills.png').waitFor()
}

async function uploadOne(page: Page): Promise<undefined> {
  await page.getByLabel('Files to upload').setInputFiles(samplePng('Harbour.png'))
  await page.getByText('image/png', { exact: true }).waitFor()
}

/** Puts a mail into the inbox. */
async function requestReset(page: Page): Promise<undefined> {
  const body = JSON.stringify({ email: 'user@example.com' })
  const headers = { 'content-type': 'application/json' }
  const { origin } = new URL(page.url())
  const request = { method: 'POST', headers, body }
  assert.ok((await fetch(`${origin}/api/auth/password-reset`, request)).ok)
}

async function beginEnrolment(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Set up an authenticator' }).click()
  await page.getByRole('img', { name: 'QR code for the authenticator' }).waitFor()
}

async function manageOne(page: Page): Promise<void> {
  await page
    .getByRole('button', { name: /^Manage/ })
    .last()
    .click()
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
}

async function openMail(page: Page): Promise<void> {
  await page.locator('main summary').first().click()
  await page.getByRole('button', { name: 'Copy the code' }).waitFor()
}

/** Creates one paid checkout, so that the inbox has deliveries, and then an open one. */
async function createCheckouts(page: Page): Promise<Record<string, string>> {
  await createCheckout(page)
  const { origin, pathname } = new URL(await hrefOf(page, 'Open the hosted page'))
  const headers = { 'content-type': 'application/json' }
  const pay = `${origin}/sandbox/api/sessions/${pathname.split('/').pop()}/pay`
  assert.ok((await fetch(pay, { method: 'POST', headers, body: '{}' })).ok)
  await goTo(page, '')
  await createCheckout(page)
  const newest = (await hrefOf(page, 'Watch the payment')).replace('#/', '')
  await goTo(page, 'events')
  const event = (await hrefOf(page, 'payment.created')).replace('#/', '')
  return { [NEWEST]: newest, [NEWEST_EVENT]: event }
}

/** Adds a fault, a pending refund, a failing delivery, and a paid and an open session. */
async function addFaultAndSession(page: Page): Promise<undefined> {
  const { origin } = new URL(page.url())
  const send = async (path: string, body: string | URLSearchParams) => {
    const type = typeof body === 'string' ? { 'content-type': 'application/json' } : undefined
    const headers = { authorization: 'Bearer sk_test_looks', ...type }
    const reply = await fetch(`${origin}${path}`, { method: 'POST', headers, body })
    assert.ok(reply.ok, `${path}: ${reply.status}`)
    return JSON.parse(await reply.text())
  }
  await send('/sandbox/api/webhook-endpoints', '{"url":"http://127.0.0.1:1/","secret":"whsec_x"}')
  const [paid] = [
    await send('/v1/checkout/sessions', order()),
    await send('/v1/checkout/sessions', order()),
  ]
  const { session } = await send(
    `/sandbox/api/sessions/${paid.id}/pay`,
    '{"card":"4000000000007726"}',
  )
  await send('/v1/refunds', new URLSearchParams({ payment_intent: session.payment_intent }))
  await send('/sandbox/api/deliveries/flush', '{}')
  await send('/sandbox/api/faults', '{"kind":"latency","route":"GET /v1/balance","delayMs":10}')
  return undefined
}

function order(): URLSearchParams {
  return new URLSearchParams({
    mode: 'payment',
    success_url: 'http://localhost:9/',
    'line_items[0][quantity]': '1',
    'line_items[0][price_data][currency]': 'eur',
    'line_items[0][price_data][unit_amount]': '2500',
    'line_items[0][price_data][product_data][name]': 'A book',
  })
}

async function createCheckout(page: Page): Promise<void> {
  await goTo(page, 'checkout')
  await page.getByRole('button', { name: 'Create the checkout' }).click()
}

async function hrefOf(page: Page, link: string): Promise<string> {
  return (await page.getByRole('link', { name: link }).first().getAttribute('href')) ?? ''
}
