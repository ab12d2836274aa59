import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserSkip, openBrowser } from './browser.ts'
import { alternateWidths, PHONE } from './consoles/both-widths.ts'

const skip = await browserSkip()

test('a headless browser opens a page', { skip }, async (t) => {
  const browser = await openBrowser(t)
  const page = await browser.newPage()

  await page.goto('data:text/html,<title>Plinth</title>')

  assert.equal(await page.title(), 'Plinth')
})

test('a step fails if its control is missing, covered or off-screen at either width', {
  skip,
}, async (t) => {
  const browser = await openBrowser(t)
  const page = await browser.newPage({ viewport: PHONE })
  const overflows = alternateWidths(page)
  const show = (phone: string, wide = '') =>
    page.setContent(`<meta name="viewport" content="width=device-width">
      <style>body { margin: 0 } @media (max-width: 500px) { ${phone} } @media (min-width: 501px) { ${wide} }</style>
      <button>Send</button><p>Words</p>`)
  const press = (timeout = 30_000) => page.getByRole('button').click({ timeout })

  await show('')
  await press()
  assert.deepEqual(overflows, [])
  for (const fault of [
    'button { display: none }',
    'p { position: fixed; inset: 0; margin: 0 }',
    'button { position: fixed; left: 400px }',
  ]) {
    await show(fault)
    await assert.rejects(press(1_000), /Timeout/, fault)
    await show('', fault.replace('400px', '1500px'))
    await assert.rejects(press(1_000), /Timeout/, fault)
  }
  assert.deepEqual(overflows, [])
  await page.setViewportSize(PHONE)
  await show('', 'p { width: 1500px }')
  await press()
  assert.match(overflows.join(), /60 px too wide/)
})
