import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { PHONE } from './both-widths.ts'
import { textFile } from './sample-files.ts'
import { findTokens } from './token-probe.ts'
import { consoleOf, openConsole, showRequests } from './watched-page.ts'

const skip = await browserSkip()
const OWN_KEY = 'a-key-of-our-own-2f8c'

describe('the key edition’s tester', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let address: string
  let addressWithOwnKey: string

  before(async () => {
    browser = await openBrowser(shared)
    const suite = await startSuite(shared, {}, ['storage-key'])
    const own = { STORAGE_KEY_API_KEY: OWN_KEY, STORAGE_KEY_MAX_FILE_SIZE: '2048' }
    const keyed = await startSuite(shared, own, ['storage-key'])
    address = consoleOf(suite.urlOf('storage-key'))
    addressWithOwnKey = consoleOf(keyed.urlOf('storage-key'))
  })

  test('shows the size in bytes, opens a PDF, and explains why a deletion failed', async (t) => {
    const page = await openConsole(t, browser, address)
    const paper = textFile('paper.pdf', '%PDF-1.4\n%%EOF\n', 'application/pdf')

    await page.getByLabel('Files to upload').setInputFiles(paper)

    const metadata = page.locator('.card', {
      has: page.getByRole('heading', { name: 'Metadata' }),
    })
    await metadata.getByText('15 bytes', { exact: true }).waitFor()
    const open = metadata.getByRole('link', { name: /Open the PDF/ })
    assert.match((await open.getAttribute('href')) ?? '', /^blob:/)

    const remove = async () => {
      await metadata.getByRole('button', { name: 'Delete' }).click()
      await metadata.getByText('It cannot be restored.').waitFor()
      await metadata.getByRole('button', { name: 'Delete' }).click()
    }
    // Drop the key on the way, so that the server refuses.
    await page.route('**/file/*.pdf', (route) => route.continue({ headers: {} }))
    await remove()
    await metadata.locator('.notice.bad').waitFor()
    await page.unroute('**/file/*.pdf')
    await remove()
    await page.getByText('The store is empty').waitFor()
  })

  test('says which of extension, type and bytes disagree before sending', async (t) => {
    const page = await openConsole(t, browser, address)
    const liar = textFile('holiday.png', '%PDF-1.7 not a picture', 'image/png')

    await page.getByLabel('Files to upload').setInputFiles(liar)

    await page.getByText('The extension says PNG, but the bytes are PDF.').waitFor()
    await page.getByRole('button', { name: 'Send it anyway' }).click()
    await page.getByRole('alert').filter({ hasText: 'all three must agree' }).waitFor()
  })

  test('asks for the key when the server has its own, and stores it nowhere', async (t) => {
    const page = await openConsole(t, browser, addressWithOwnKey)

    await page.getByText('This server has its own key: enter it.').waitFor()
    assert.doesNotMatch(await page.content(), new RegExp(OWN_KEY))
    await page.getByLabel('Key', { exact: true }).fill(OWN_KEY)
    await page.getByRole('button', { name: 'Show the key' }).click()
    assert.equal(await page.getByLabel('Key', { exact: true }).inputValue(), OWN_KEY)
    await page.getByRole('button', { name: 'Use this key' }).click()

    await page.getByText('accepted').waitFor()
    await page.getByText('The store is empty').waitFor()
    await showRequests(page, PHONE)
    await page.getByLabel('The request as curl').getByText('X-API-KEY: $API_KEY').waitFor()
    assert.deepEqual(await findTokens(page, [OWN_KEY]), ['field'], 'only where it was typed')

    await page.reload()
    await page.getByText('This server has its own key: enter it.').waitFor()
    assert.deepEqual(await findTokens(page, [OWN_KEY]), [])
  })

  test('a late answer to an earlier key does not count against the current one', async (t) => {
    const page = await openConsole(t, browser, addressWithOwnKey)
    await page.getByText('This server has its own key: enter it.').waitFor()
    const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route('**/file/list', async (route) => {
      if (route.request().headers()['x-api-key'] === OWN_KEY) return route.continue()
      asked.resolve()
      await released.promise
      return route.continue()
    })
    const use = async (key: string) => {
      await page.getByLabel('Key', { exact: true }).fill(key)
      await page.getByRole('button', { name: 'Use this key' }).click()
    }
    await use('a wrong key')
    await asked.promise
    await use(OWN_KEY)
    await page.getByText('accepted').waitFor()

    released.resolve()
    const refusals = page.locator('.exchange-list').getByText('401')
    await until(
      () => refusals.count(),
      (count) => count === 2,
    )

    await page.getByText('The store is empty').waitFor()
    assert.equal(await page.getByText('This server refuses that key.').count(), 0)
  })

  test('a key with characters that no header can carry is refused like any other', async (t) => {
    const page = await openConsole(t, browser, addressWithOwnKey)
    await page.getByLabel('Key', { exact: true }).fill(OWN_KEY)
    await page.getByRole('button', { name: 'Use this key' }).click()
    await page.getByText('accepted').waitFor()

    await page.getByLabel('Key', { exact: true }).fill('ключ…')
    await page.getByRole('button', { name: 'Use this key' }).click()

    await page.getByText('This server refuses that key.').waitFor()
  })

  test('accepts only the types and the size that the service reports', async (t) => {
    const page = await openConsole(t, browser, addressWithOwnKey)
    await page.getByLabel('Key', { exact: true }).fill(OWN_KEY)
    await page.getByRole('button', { name: 'Use this key' }).click()
    await page.getByText('PNG, JPEG, WebP and PDF, up to 2 kB each').waitFor()
    const long = textFile('long.pdf', `%PDF-1.4\n${' '.repeat(3000)}`, 'application/pdf')
    await page.getByLabel('Files to upload').setInputFiles(long)
    await page.getByText('The file is too large: it has 2.9 kB, and the limit is 2 kB.').waitFor()

    const types = [{ name: 'png', mediaType: 'image/png', extensions: ['.png'] }]
    const facts = { suite: null, uploads: { maxFileBytes: 4096, types } }
    await page.route('**/facts.json', (route) => route.fulfill({ json: facts }))
    await page.reload()
    await page.getByLabel('Key', { exact: true }).fill(OWN_KEY)
    await page.getByRole('button', { name: 'Use this key' }).click()

    await page.getByText('PNG, up to 4 kB each').waitFor()
    await page.getByLabel('Files to upload').setInputFiles(long)
    await page.getByText('The extension .pdf is not accepted. Accepted types: PNG.').waitFor()
  })

  test('is byte-for-byte the same whatever key is configured', async () => {
    for (const file of ['index.html', 'page.js', 'page.css']) {
      const [development, configured] = await Promise.all(
        [address, addressWithOwnKey].map(async (page) => (await fetch(new URL(file, page))).text()),
      )
      assert.equal(configured, development)
    }
  })
})
