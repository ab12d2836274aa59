import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { storageClient } from '@plinth/client'
import type { Browser } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { samplePng } from './sample-files.ts'
import { goTo, openConsole } from './watched-page.ts'

const skip = await browserSkip()

describe('what works the first time works the second time', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let urlOf: (service: string) => string

  before(async () => {
    browser = await openBrowser(shared)
    urlOf = (await startSuite(shared)).urlOf
  })

  test('a second checkout from the same form is another payment, and its next step is in view', async (t) => {
    const page = await openConsole(t, browser, `${urlOf('payments')}/api-test/index.html#/checkout`)
    const create = page.getByRole('button', { name: 'Create the checkout' })
    const reference = page.getByLabel('Business reference')
    const next = page.getByRole('link', { name: 'Watch the payment' })
    await page.getByLabel('Amount').first().waitFor()
    const first = await reference.inputValue()
    await create.click()
    await next.waitFor()
    const firstPayment = await next.getAttribute('href')

    const second = await reference.inputValue()
    await create.click()
    await page.locator(`a[href^="#/payments/"]:not([href="${firstPayment}"])`).first().waitFor()

    assert.notEqual(second, first)
    const box = await next.boundingBox()
    const height = page.viewportSize()?.height ?? 0
    assert.ok(box && box.y >= 0 && box.y + box.height <= height, 'in view')
  })

  test('a reference that is taken offers a new one', async (t) => {
    const page = await openConsole(t, browser, `${urlOf('payments')}/api-test/index.html#/checkout`)
    const reference = page.getByLabel('Business reference')
    const create = page.getByRole('button', { name: 'Create the checkout' })
    await reference.fill('order-taken')
    await create.click()
    await page.getByText('The checkout is open').waitFor()
    await reference.fill('order-taken')
    await page.getByLabel('Amount').first().fill('50.00')
    await create.click()

    await page.getByRole('button', { name: 'Use a new business reference' }).click()

    assert.match(await reference.inputValue(), /^order-(?!taken)/)
    await create.click()
    await page.getByText('The checkout is open').waitFor()
  })

  test('how often a link was opened updates by itself', async (t) => {
    const storage = storageClient(urlOf('storage-full'))
    await storage.logIn('user', 'password123123')
    const { buffer, name } = samplePng('lake.png')
    const blob = new Blob([Uint8Array.from(buffer)], { type: 'image/png' })
    const file = await storage.files.upload(blob, name)
    const { url } = await storage.links.create(file.id, 3600)
    const page = await openConsole(t, browser, `${urlOf('storage-full')}/api-test/index.html`)
    await page
      .getByRole('button', { name: /^Sign in as user/ })
      .first()
      .click()
    await page.getByText('lake.png').first().waitFor()
    await page.goto(`${urlOf('storage-full')}/api-test/index.html#/files/${file.id}`)
    const opened = page
      .getByRole('table', { name: 'Links to this file' })
      .locator('tbody td')
      .nth(2)
    await opened.getByText('0', { exact: true }).waitFor()

    await fetch(url)

    await opened.getByText('1', { exact: true }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('while a slow network answers, the page says that it loads', async (t) => {
    const page = await openConsole(t, browser, `${urlOf('payments')}/api-test/index.html`)
    await page.locator('main h1').waitFor()
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    await page.route('**/api/payments?*', async (route) => {
      await answered
      await route.continue()
    })

    await goTo(page, 'payments')
    const loading = page.getByRole('status').filter({ hasText: 'Loading' })
    await loading.waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    answer()

    await loading.waitFor({ state: 'hidden' })
    await page.getByRole('table', { name: 'Payments' }).or(page.locator('.empty')).first().waitFor()
  })

  test('pages say what a person would say', async (t) => {
    const viewport = { width: 1440, height: 900 }
    const address = `${urlOf('identity')}/api-test/index.html#/session`
    const page = await openConsole(t, browser, address, { viewport })
    const pages = page.getByRole('navigation', { name: 'Pages' })
    await pages.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
    await pages.getByRole('link', { name: /^Users.*for administrators$/ }).waitFor()

    await page
      .getByRole('button', { name: /^Sign in as admin/ })
      .first()
      .click()

    await pages.getByRole('link', { name: 'Session', exact: true }).waitFor()
    await pages.getByRole('link', { name: 'Users', exact: true }).waitFor()
  })
})
