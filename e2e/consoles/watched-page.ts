import assert from 'node:assert/strict'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { alternateWidths, onlyAt, WIDE } from './both-widths.ts'

type Cleanup = { after(cleanup: () => Promise<void>): void }

/**
 * A page in a browser of its own profile. When the test ends, anything it should not have done fails
 * the test: an error in the console, a breach of its content policy, a request to another origin.
 * Its steps alternate between a wide window and a phone unless `options` ask for one viewport.
 */
export async function openConsole(
  t: Cleanup,
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  // Without motion: a colour half-way through its transition is a fault to axe.
  const calm = { acceptDownloads: true, locale: 'en-GB', reducedMotion: 'reduce' } as const
  const context = await browser.newContext({ viewport: WIDE, ...calm, ...options })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const faults: string[][] = []
  // Also the second tabs and what opens in a tab of its own.
  context.on('page', (opened) => {
    if (!options.viewport) faults.push(alternateWidths(opened))
  })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  faults.push(watch(page, new URL(address).origin))
  t.after(async () => {
    await context.close()
    assert.deepEqual(faults.flat(), [])
  })
  await page.goto(address)
  return page
}

function watch(page: Page, origin: string): string[] {
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`uncaught: ${error.message}`))
  page.on('console', (message) => {
    // A refused call is part of many tests; the browser notes each as a failed resource.
    const refusal = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !refusal) faults.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (/^https?:$/.test(url.protocol) && url.origin !== origin) faults.push(`foreign: ${url}`)
  })
  return faults
}

export const consoleOf = (service: string, page = ''): string =>
  `${service}/api-test/index.html#/${page}`

export const sandboxPageOf = (sandbox: string): string => `${sandbox}/sandbox/index.html#/`

/** Moves inside the page without loading it again, and waits until the other page is there. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${path}`)}`)
  await page.locator(`main[data-page="${path}"]`).waitFor()
}

export async function signIn(page: Page, username: 'user' | 'admin'): Promise<void> {
  await goTo(page, 'session')
  await page
    .getByRole('button', { name: `Sign in as ${username}` })
    .first()
    .click()
  await page.locator('.session-bar', { hasText: username }).waitFor()
}

/** A wide window has the requests beside the page; a phone has them in a sheet over it. */
export async function showRequests(page: Page, size: typeof WIDE): Promise<void> {
  await onlyAt(page, size, async () => {
    const panel = page.locator('.inspector')
    if (!(await panel.isVisible())) await page.getByRole('button', { name: 'Requests' }).click()
    await panel.waitFor()
  })
}
