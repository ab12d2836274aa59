import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import { storageClient } from '@plinth/client'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { changeDatabase } from '../second-connection.ts'
import { startSuite, takePayment } from '../stack.ts'
import { accessibilityFaults, listen } from './accessibility.ts'
import { onlyAt, PHONE, WIDE } from './both-widths.ts'
import { consoleOf, goTo, openConsole, signIn } from './watched-page.ts'

const skip = await browserSkip()

describe('the tables of the consoles', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let suite: Awaited<ReturnType<typeof startSuite>>

  before(async () => {
    browser = await openBrowser(shared)
    suite = await startSuite(shared)
    await insertUsers(join(suite.folder, 'identity.db'), 60)
  })

  const open = async (t: TestContext, service: string, path = '') => {
    const page = await openConsole(t, browser, consoleOf(suite.urlOf(service)))
    if (service !== 'payments') await signIn(page, 'admin')
    if (path) await goTo(page, path)
    return page
  }
  const usernames = (page: Page) => page.locator('td[data-title=Username]').allInnerTexts()
  const search = async (page: Page, text: string) => {
    const form = page.getByRole('form', { name: 'Search users' })
    await form.getByLabel('Name or e-mail').fill(text)
    await form.getByRole('button', { name: 'Search' }).click()
  }

  test('a part of a name finds the user, whose row has an address of its own', async (t) => {
    const page = await open(t, 'identity', 'users')

    await search(page, '0047')
    await page.getByText('1 user', { exact: true }).waitFor()
    assert.deepEqual(await usernames(page), ['row0047'])
    await page.getByRole('link', { name: 'row0047' }).click()

    await page.getByRole('heading', { level: 2, name: 'row0047' }).waitFor()
    assert.match(page.url(), /#\/users\/\d+$/)
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('link', { name: '← Users' }).click()
    await page.getByRole('form', { name: 'Search users' }).waitFor()
  })

  test('columns are sorted by the service, and on a phone by a list of them', async (t) => {
    const page = await open(t, 'identity', 'users')
    await page.getByText('62 users').waitFor()
    const head = page.getByRole('columnheader', { name: 'Username' })
    const first = (name: string) =>
      until(
        async () => (await usernames(page))[0],
        (found) => found === name,
      )

    await onlyAt(page, WIDE, async () => {
      await head.getByRole('button').click()
      await first('admin')
      assert.equal(await head.getAttribute('aria-sort'), 'ascending')
      await head.getByRole('button').click()
      await first('user')
      assert.equal(await head.getAttribute('aria-sort'), 'descending')
    })
    await onlyAt(page, PHONE, async () => {
      assert.equal(await page.getByLabel('Sort by').inputValue(), 'username,desc')
      await page.getByLabel('Sort by').selectOption('E-mail ▲')
      await first('admin')
    })
    assert.match(page.url(), /sort=email%2Casc/)
    await search(page, 'row000')
    await page.getByText('9 users').waitFor()
    await onlyAt(page, WIDE, () => head.getByRole('button').click())
    await first('row0001')
    await onlyAt(page, WIDE, () => head.getByRole('button').click())

    await first('row0009')
  })

  for (const [service, path] of [
    ['identity', 'users'],
    ['payments', 'payments'],
  ] as const)
    test(`the filters of ${path} are in one row beside the requests`, async (t) => {
      const page = await open(t, service, path)
      await page.locator('.filters .field').first().waitFor()

      const bottoms = await onlyAt(page, WIDE, () => page.evaluate<number[]>(BOTTOMS))

      assert.ok(bottoms.length > 6)
      assert.equal(new Set(bottoms).size, 1)
    })

  test('search, filters, order and page are in the address, and going back keeps the place', async (t) => {
    const page = await open(t, 'identity', 'users')
    await onlyAt(page, PHONE, async () => {
      const state = page.getByLabel('State')
      assert.equal(await state.isVisible(), false, 'folded on a phone')
      await page.getByRole('button', { name: 'More filters' }).click()
      await state.waitFor()
    })
    await page.getByLabel('State').selectOption('enabled')
    await search(page, 'row')
    await page.getByText('60 users').waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('Page 2 of 3').waitFor()
    await until(
      () => usernames(page),
      (names) => names[0] === 'row0021',
    )
    const { hash } = new URL(page.url())
    assert.equal(hash, '#/users?q=row&enabled=true&page=2')

    await goTo(page, 'profile')
    await page.goBack()
    await page.getByText('Page 2 of 3').waitFor()
    await until(
      () => usernames(page),
      (names) => names[0] === 'row0021',
    )

    const other = await open(t, 'identity', 'profile')
    await other.evaluate(`location.hash = ${JSON.stringify(hash)}`)
    await other.getByText('Page 1 of 3').waitFor()
    assert.equal(await other.getByLabel('Name or e-mail').inputValue(), 'row')
    await other.evaluate(`location.hash = '#/users?sort=id%2Cdesc&page=2'`)
    await other.getByText('Page 2 of 4').waitFor()
    await until(
      () => usernames(other),
      (names) => names[0] === 'row0040',
    )
  })

  test('many users are disabled at once, and each failure is reported', async (t) => {
    const page = await open(t, 'identity', 'users')
    await page.route('**/api/users/*', async (route) => {
      const fails = route.request().method() === 'PATCH' && (await hasName(route.request().url()))
      const problem = { status: 409, detail: 'This one is protected.' }
      await (fails ? route.fulfill({ status: 409, json: problem }) : route.continue())
    })
    const ids = new Map<string, string>()
    const hasName = async (url: string) => ids.get(new URL(url).pathname) === 'row0052'
    await search(page, 'row005')
    await page.getByText('10 users').waitFor()
    for (const row of await page.getByRole('row').all()) {
      const link = row.getByRole('link')
      if ((await link.count()) === 0) continue
      const id = (await link.getAttribute('href'))?.split('/').at(-1)
      ids.set(`/api/users/${id}`, await link.innerText())
    }
    await page.getByLabel('Select row0051').click()
    await page.getByText('1 selected').waitFor()
    await page.getByLabel('Select all on this page').click()
    await page.getByText('10 selected').waitFor()
    await page.getByLabel('Select row0053').click()
    await page.getByText('9 selected').waitFor()
    const bar = page.getByRole('region', { name: 'Selected rows' })
    const disable = bar.getByRole('button', { name: 'Disable' })
    assert.equal(await disable.getAttribute('title'), 'Enter a reason first.')
    await bar.getByLabel('Reason').fill('the project has ended')
    assert.deepEqual(await accessibilityFaults(page), [])
    const heard = await listen(page)
    await disable.click()
    await bar.getByText('Disable 9 of them?').waitFor()
    await disable.click()

    await page.getByText('8 of 9 disabled, 1 failed.').waitFor()
    await heard('8 of 9 disabled, 1 failed.')
    await page.locator('.notice li', { hasText: 'row0052: This one is protected.' }).waitFor()
    const states = () => page.locator('td[data-title=State]').allInnerTexts()
    await until(states, (found) => found.filter((state) => state === 'disabled').length === 8)
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('the rows that are shown are saved as CSV, without buttons and formulas', async (t) => {
    const page = await open(t, 'identity', 'users')
    await search(page, 'row003')
    await page.getByText('10 users').waitFor()

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV of users' }).click(),
    ])

    assert.equal(download.suggestedFilename(), 'users.csv')
    const lines = (await readFile(await download.path(), 'utf8')).split('\r\n')
    assert.equal(lines[0], '\ufeff"Id","Username","E-mail","Roles","State","Since"')
    assert.equal(lines.length, 12)
    assert.match(lines[1] ?? '', /^"\d+","row0030","row0030@example.com","user","enabled",".+"$/)
  })

  test('files are deleted together, and can be restored', async (t) => {
    const storage = storageClient(suite.urlOf('storage-full'))
    await storage.logIn('admin', 'password123123')
    for (const name of ['one.txt', 'two.txt', 'three.txt'])
      await storage.files.upload(new Blob(['text'], { type: 'text/plain' }), name)
    const page = await open(t, 'storage-full')
    await goTo(page, '')
    await page.getByRole('button', { name: 'List', exact: true }).click()
    await page.getByText('3 files').first().waitFor()
    await page.getByLabel('Select one.txt').click()
    await page.getByLabel('Select three.txt').click()
    const bar = page.getByRole('region', { name: 'Selected rows' })

    await bar.getByRole('button', { name: 'Move to the trash' }).click()
    await bar.getByRole('button', { name: 'Move to the trash' }).click()

    await page.getByText('2 of 2 moved to the trash.').waitFor()
    await page.getByText('1 file', { exact: true }).first().waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await goTo(page, 'trash')
    await page.getByLabel('Select all on this page').check()
    await bar.getByRole('button', { name: 'Restore' }).click()
    await bar.getByRole('button', { name: 'Restore' }).click()
    await page.getByText('2 of 2 restored.').waitFor()
    await page.getByText('The trash is empty').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('events are sent again together, and keys are found, sorted and saved', async (t) => {
    await takePayment(suite.urlOf)
    const page = await open(t, 'payments', 'payments')
    await page.getByText('1 payment', { exact: true }).waitFor()
    await goTo(page, 'events')
    await page.getByLabel('Select all', { exact: true }).click()
    const bar = page.getByRole('region', { name: 'Selected rows' })
    await bar.getByRole('button', { name: 'Send again' }).click()
    await bar.getByRole('button', { name: 'Send again' }).click()
    await page.getByText(/^\d of \d queued to be sent again/).waitFor()

    const admin = await open(t, 'identity', 'keys')
    for (let n = 0; n < 9; n += 1) {
      await admin.getByLabel('Name').fill(`server ${n}`)
      await admin.getByRole('button', { name: 'Make a key' }).click()
      await admin.getByRole('cell', { name: `server ${n}`, exact: true }).waitFor()
    }
    await admin.getByLabel('Find in service keys').fill('VER 7')
    await admin.getByText('1 key', { exact: true }).waitFor()
    assert.match(admin.url(), /keys-find=VER\+7/)
    assert.deepEqual(await accessibilityFaults(admin), [])
  })
})

/** Where the fields and the button end that are shown. */
const BOTTOMS = `[...document.querySelector('.filters').children]
  .map((part) => Math.round(part.getBoundingClientRect().bottom))
  .filter((bottom) => bottom > 0)`

/** `row0001` and so on, inserted directly: hashing so many passwords takes long. */
function insertUsers(file: string, count: number): Promise<void> {
  return changeDatabase(
    file,
    `
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})
    insert into users (username, email, password_hash, roles, admin, enabled, created_at)
    select printf('row%04d', n), printf('row%04d@example.com', n), '!', '["ROLE_USER"]', 0, 1,
      '2026-01-01T00:00:00.000Z'
    from numbers`,
  )
}
