import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { consoleOf, openConsole } from './watched-page.ts'

const skip = await browserSkip()

describe('the search of a console', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let address: string

  before(async () => {
    browser = await openBrowser(shared)
    const suite = await startSuite(shared, {}, ['identity'])
    address = consoleOf(suite.urlOf('identity'), 'session')
  })

  /** Opens the search from a field of the sign-in. */
  async function openSearch(t: TestContext) {
    const page = await openConsole(t, browser, address, {
      viewport: { width: 1440, height: 900 },
    })
    const signIns: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/api/auth/login')) signIns.push(request.url())
    })
    const field = page.getByRole('form', { name: 'Sign in' }).getByLabel('Username')
    await field.focus()
    await page.keyboard.press('Control+k')
    const search = page.getByRole('searchbox', { name: 'Search this console' })
    await search.waitFor()
    return { page, search, signIns }
  }

  test('opens what it finds, and Enter does not submit the form behind it', async (t) => {
    const { page, search, signIns } = await openSearch(t)
    await page.keyboard.type('nothing like this')
    await page.keyboard.press('Enter')
    await page.getByText('No matches.').waitFor()
    await search.fill('profile')

    await page.keyboard.press('Enter')
    await page.locator('main[data-page="profile"]').waitFor()

    assert.deepEqual(signIns, [])
  })

  test('stays open when it is closed and opened again before the browser has told that it closed', async (t) => {
    const { page } = await openSearch(t)

    const isOpen = await page.evaluate<boolean>(`(async () => {
      const dialog = document.querySelector('dialog.palette')
      const told = new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }))
      for (let times = 0; times < 2; times += 1) {
        dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }))
        for (let turn = 0; turn < 20; turn += 1) await undefined
      }
      await told
      for (let turn = 0; turn < 20; turn += 1) await undefined
      return dialog.open
    })()`)

    assert.ok(isOpen)
  })

  test('is walked through with the arrow keys, from end to end', async (t) => {
    const { page, search } = await openSearch(t)
    const options = page.getByRole('option')
    const chosen = page.getByRole('option', { selected: true })
    const count = await options.count()
    assert.equal(await chosen.innerText(), await options.first().innerText())

    await page.keyboard.press('ArrowUp')
    assert.equal(await chosen.innerText(), await options.nth(count - 1).innerText())
    assert.ok(await chosen.isVisible())
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    const second = await options.nth(1).innerText()
    assert.equal(await chosen.innerText(), second)
    const active = await search.getAttribute('aria-activedescendant')
    assert.equal(await page.locator(`#${active}`).innerText(), second)
    assert.deepEqual(await accessibilityFaults(page), [])
    await search.fill('go to')
    assert.equal(await chosen.innerText(), 'Go to Overview', 'a new search starts at its first')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')

    await page.locator('main[data-page="profile"]').waitFor()
  })

  test('is closed by Escape, also with text in it, and the focus returns', async (t) => {
    const { page, search } = await openSearch(t)
    await page.keyboard.type('prof')

    await page.keyboard.press('Escape')

    await search.waitFor({ state: 'hidden' })
    assert.equal(await page.evaluate('document.activeElement.name'), 'username')
    await page.keyboard.press('Control+k')
    assert.equal(await search.inputValue(), '')
  })

  test('opens an entry by a click', async (t) => {
    const { page } = await openSearch(t)

    await page.getByRole('option', { name: 'Go to Security' }).click()

    await page.locator('main[data-page="security"]').waitFor()
  })
})
