import assert from 'node:assert/strict'
import type { Browser, BrowserContextOptions, Page, Route } from 'playwright-core'
import { alternateWidths, onlyAt, PHONE, WIDE } from './both-widths.ts'

type Cleanup = { after(cleanup: () => Promise<void>): void }

/**
 * Opens a page in a fresh browser context. When the test ends, anything the page should not have done
 * fails it: a browser-console error, a Content-Security-Policy violation, a request to another origin.
 * Steps alternate between a wide window and a phone unless `options` set a viewport.
 */
export async function openConsole(
  t: Cleanup,
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  // Without motion, because axe faults a colour in the middle of its transition.
  const calm = { acceptDownloads: true, locale: 'en-GB', reducedMotion: 'reduce' } as const
  const context = await browser.newContext({ viewport: WIDE, ...calm, ...options })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const faults: string[][] = []
  // Includes second tabs and links that open a new tab.
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
    // Many tests provoke refused calls, and the browser logs each as a failed resource.
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

/** Navigates within the console without reloading it, and waits until the other page is there. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${path}`)}`)
  await page.locator(`main[data-page="${path.split('?')[0]}"]`).waitFor()
}

export async function signIn(page: Page, username: 'user' | 'admin'): Promise<void> {
  await goTo(page, 'session')
  await page
    .getByRole('button', { name: `Sign in as ${username}` })
    .first()
    .click()
  await page.locator('.session-bar', { hasText: username }).waitFor()
}

/** On a phone, the filters of a list are folded. */
export function unfoldFilters(page: Page): Promise<void> {
  return onlyAt(page, PHONE, () => page.getByRole('button', { name: /^More filters/ }).click())
}

/** Shows the requests: beside the page in a wide window, in a sheet over it on a phone. */
export async function showRequests(page: Page, size: typeof WIDE): Promise<void> {
  await onlyAt(page, size, async () => {
    const panel = page.locator('.inspector')
    if (!(await panel.isVisible())) await page.getByRole('button', { name: 'Requests' }).click()
    await panel.waitFor()
  })
}

/** Lets a request go on that a test has held; the page may have dropped it, or be closed, by then. */
export async function letGoOn(route: Route): Promise<void> {
  try {
    await route.continue()
  } catch (error) {
    const isDropped = /has been closed|is already handled/.test(String(error))
    if (!isDropped && !route.request().failure()) throw error
  }
}
