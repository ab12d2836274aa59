import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserSkip, openBrowser } from './browser.ts'

const skip = await browserSkip()

test('a headless browser opens a page', { skip }, async (t) => {
  const browser = await openBrowser(t)
  const page = await browser.newPage()

  await page.goto('data:text/html,<title>Plinth</title>')

  assert.equal(await page.title(), 'Plinth')
})
