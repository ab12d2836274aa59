import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { storageClient } from '@plinth/client'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults, listen } from './accessibility.ts'
import { onlyAt, PHONE, WIDE } from './both-widths.ts'
import { samplePng, textFile } from './sample-files.ts'
import { collectTokens, findTokens } from './token-probe.ts'
import { consoleOf, goTo, openConsole, showRequests, signIn } from './watched-page.ts'

const skip = await browserSkip()
const run = promisify(execFile)
const MB = 2 ** 20
/** Needs three pieces. */
const LARGE = 'large '.repeat(3 * MB)

describe('files and folders in the console of the full edition', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let service: string
  /** On the disk, where the browser reads it: bytes from here would cross its protocol as one message. */
  let large: string
  let users = 0

  before(async () => {
    browser = await openBrowser(shared)
    large = await largeFile(shared, LARGE)
    const suite = await startSuite(shared, {
      STORAGE_FULL_VERSIONS: '2',
      STORAGE_FULL_USER_BYTES: '200MB',
      STORAGE_FULL_PICTURE_PRESETS: 'avatar:width=96&height=96&fit=cover',
    })
    service = suite.urlOf('storage-full')
  })

  /** A user without files, so that a test sees only its own. */
  const newUser = async () => {
    users += 1
    const username = `reader${users}`
    const user = { username, email: `${username}@example.com`, password: 'correct horse battery' }
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(user) }
    assert.ok((await fetch(`${service}/api/auth/register`, request)).ok)
    const client = storageClient(service)
    await client.logIn(username, user.password)
    return { ...user, client }
  }

  type User = Awaited<ReturnType<typeof newUser>>

  const signInAs = async (page: Page, { username, password }: User) => {
    await goTo(page, 'session')
    const form = page.getByRole('form', { name: 'Sign in', exact: true })
    await form.getByLabel('Username').fill(username)
    await form.getByLabel('Password').fill(password)
    await form.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.session-bar', { hasText: username }).waitFor()
  }

  const openAs = async (t: TestContext, user: User, path = '') => {
    const page = await openConsole(t, browser, consoleOf(service))
    await signInAs(page, user)
    await goTo(page, path)
    return page
  }

  const put = ({ client }: User, name: string, folder = '/', text = name) =>
    client.files.upload(new Blob([text], { type: 'text/plain' }), name, { folder })

  const card = (page: Page, name: string) => page.locator('.file-grid li', { hasText: name })
  const names = (page: Page) => page.locator('.file-grid .name').allInnerTexts()
  const namesAre = (page: Page, wanted: string[]) =>
    until(
      () => names(page),
      (found) => JSON.stringify(found.toSorted()) === JSON.stringify(wanted.toSorted()),
    )

  test('folders are created, renamed and deleted, and an upload goes where one is', async (t) => {
    const user = await newUser()
    const page = await openAs(t, user)
    const heard = await listen(page)

    await page.getByRole('button', { name: 'New folder' }).click()
    await page.getByLabel('Name', { exact: true }).fill('holidays')
    await page.getByRole('button', { name: 'Create it' }).click()
    await heard('The folder /holidays is there.')
    const below = page.getByRole('list', { name: 'Folders in this one' })
    await below.getByRole('link', { name: 'holidays' }).click()
    await page.getByLabel('Files to upload').setInputFiles(textFile('plan.txt', 'the plan'))
    await card(page, 'plan.txt').waitFor()
    await page.getByRole('button', { name: 'Rename or move' }).click()
    await page.getByLabel('New path').fill('/journeys/2026')
    await page.getByRole('button', { name: 'Move it' }).click()

    const way = page.getByRole('navigation', { name: 'Folder' })
    await way.getByRole('link', { name: '2026' }).waitFor()
    await card(page, 'plan.txt').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Delete the folder' }).click()
    await page.getByRole('button', { name: 'Delete it' }).click()
    await page.getByText('Press the button again to delete it with its files.').waitFor()
    await page.getByRole('button', { name: 'Delete with its files' }).click()
    await page.getByRole('button', { name: 'Move it all' }).click()
    await way.getByRole('link', { name: '2026' }).waitFor({ state: 'detached' })

    assert.deepEqual((await user.client.folders.list('/journeys')).folders, [])
    assert.equal((await user.client.usage.get()).trashFiles, 1)
  })

  test('the tree of folders answers to the keys that a tree has', async (t) => {
    const user = await newUser()
    for (const path of ['/alpha/inner', '/beta']) await user.client.folders.create(path)
    await put(user, 'deep.txt', '/alpha/inner')
    const page = await openAs(t, user)
    await onlyAt(page, PHONE, () => page.getByRole('button', { name: 'Folders' }).click())
    const item = (name: string) => page.getByRole('treeitem', { name, exact: true })
    await item('beta').waitFor()

    await onlyAt(page, WIDE, async () => {
      await item('Your files').focus()
      const focused = () => page.locator(':focus').innerText()
      for (const [key, reached] of [
        ['ArrowDown', 'alpha'],
        ['ArrowRight', 'alpha'],
      ] as const) {
        await page.keyboard.press(key)
        assert.equal(await focused(), reached)
      }
      await item('inner').waitFor()
      assert.equal(await item('alpha').getAttribute('aria-expanded'), 'true')
      for (const [key, reached] of [
        ['ArrowRight', 'inner'],
        ['ArrowLeft', 'alpha'],
        ['End', 'beta'],
        ['Home', 'Your files'],
        ['ArrowDown', 'alpha'],
        ['ArrowDown', 'inner'],
      ] as const) {
        await page.keyboard.press(key)
        assert.equal(await focused(), reached, key)
      }
      await page.keyboard.press('Enter')
      await card(page, 'deep.txt').waitFor()
      assert.equal(await item('inner').getAttribute('aria-selected'), 'true')
      await page.keyboard.press('ArrowLeft')
      await page.keyboard.press('ArrowLeft')
      await item('inner').waitFor({ state: 'detached' })
      assert.equal(await page.getByRole('treeitem').and(page.locator('[tabindex="0"]')).count(), 1)
    })
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('a search narrows by words, tag, size and place, is part of the address, and pages by cursor', async (t) => {
    const user = await newUser()
    const tagged = await put(user, 'Über die Berge.txt', '/holidays')
    await user.client.files.change(tagged.id, { tags: ['Beach'] })
    await put(user, 'bergsee.txt', '/', 'x'.repeat(3000))
    await put(user, 'other.txt')
    const page = await openAs(t, user)
    const form = page.getByRole('form', { name: 'Search files' })
    const search = () => form.getByRole('button', { name: 'Search' }).click()

    await form.getByLabel('Words of the name').fill('uber berg')
    await search()
    await namesAre(page, ['Über die Berge.txt'])
    assert.match(page.url(), /q=uber\+berg/)
    await form.getByLabel('Words of the name').fill('berg')
    await search()
    await namesAre(page, ['Über die Berge.txt', 'bergsee.txt'])
    await form.getByRole('button', { name: /^More filters/ }).click()
    await form.getByLabel('From kB').fill('1')
    await search()
    await namesAre(page, ['bergsee.txt'])
    await page.evaluate("location.hash = '#/?tag=beach'")
    await namesAre(page, ['Über die Berge.txt'])
    await page.evaluate("location.hash = '#/?q=berg&within=only'")
    await namesAre(page, ['bergsee.txt'])
    await page.evaluate("location.hash = '#/?minSize=many'")
    await page
      .locator('.main')
      .getByText(/minSize: must be/)
      .waitFor()

    for (let n = 0; n < 50; n += 1) await put(user, `row ${String(n).padStart(2, '0')}.txt`)
    await page.evaluate("location.hash = '#/?q=row&sort=name,asc'")
    await page.getByText('48 files or more').waitFor()
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('50 files', { exact: true }).waitFor()
    const found = await names(page)
    assert.deepEqual(found, found.toSorted())
    assert.equal(new Set(found).size, 50)
  })

  test('selected files are downloaded as one archive, moved and deleted, and each failure is reported', async (t) => {
    const user = await newUser()
    const files = await Promise.all(['a.txt', 'b.txt', 'c.txt'].map((name) => put(user, name)))
    const page = await openAs(t, user)
    await card(page, 'c.txt').waitFor()
    const bar = page.getByRole('region', { name: 'Selected rows' })
    for (const name of ['a.txt', 'b.txt']) await page.getByLabel(`Select ${name}`).check()

    const [archive] = await Promise.all([
      page.waitForEvent('download'),
      bar.getByRole('button', { name: 'Download as ZIP' }).click(),
    ])
    assert.equal(archive.suggestedFilename(), 'files.zip')
    const bytes = (await readFile(await archive.path())).toString('latin1')
    assert.deepEqual([...new Set(bytes.match(/[abc]\.txt/g))].toSorted(), ['a.txt', 'b.txt'])

    await user.client.files.delete(files[1]?.id ?? 0)
    await bar.getByRole('button', { name: 'Move', exact: true }).click()
    assert.deepEqual(await accessibilityFaults(page), [])
    await bar.getByLabel('To the folder').fill('/moved')
    await bar.getByRole('button', { name: 'Move them there' }).click()
    await page.getByText('1 of 2 moved, 1 failed.').waitFor()
    await page.locator('.notice li', { hasText: 'b.txt: It is not there any more.' }).waitFor()
    await namesAre(page, ['c.txt'])
    assert.equal((await user.client.files.get(files[0]?.id ?? 0)).folder, '/moved')

    await page.getByLabel('Select all', { exact: true }).check()
    await bar.getByRole('button', { name: 'Move to the trash' }).click()
    await bar.getByRole('button', { name: 'Move to the trash' }).click()
    await page.getByText('1 of 1 moved to the trash.').waitFor()
    await page.getByText('No files yet').waitFor()
  })

  test('the trash is searched, files are restored from it, and it is emptied', async (t) => {
    const user = await newUser()
    for (const name of ['keep.txt', 'lose.txt', 'lost.txt'])
      await user.client.files.deleteRestorably((await put(user, name)).id)
    const page = await openAs(t, user, 'trash')
    await page.getByText('3 files', { exact: true }).waitFor()
    const heard = await listen(page)

    await page.getByLabel('Words of the name').fill('keep')
    await page.getByRole('button', { name: 'Search', exact: true }).last().click()
    await page.getByText('1 file', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Restore keep.txt' }).click()
    await heard('Restored keep.txt.')
    await page.getByText('Nothing found').waitFor()
    await page.getByLabel('Words of the name').fill('')
    await page.getByRole('button', { name: 'Search', exact: true }).last().click()
    await page.getByText('2 files of yours').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Empty the trash' }).click()
    await page.getByRole('button', { name: 'Remove them' }).click()

    await heard('2 files, 16 bytes, removed for good.')
    await page.getByText('The trash is empty').waitFor()
    await goTo(page, '')
    await card(page, 'keep.txt').waitFor()
  })

  test('a large upload goes on after a reload where it stopped, without the file being chosen again', async (t) => {
    const user = await newUser()
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    const tokens = collectTokens(page)
    await signInAs(page, user)
    await goTo(page, '?in=%2Fworks')
    const { stop, begun } = await holdFrom(page, 2)
    await page.getByLabel('Files to upload').setInputFiles(large)
    await begun
    assert.deepEqual(await findTokens(page, await tokens(2)), [])

    await page.reload()
    await stop()
    const offsets = sentOffsets(page)
    await signInAs(page, user)
    await goTo(page, '?in=%2Fworks')

    await page.locator('.uploads li', { hasText: 'large.txt' }).getByText('stored').waitFor()
    await card(page, 'large.txt').waitFor()
    assert.deepEqual(offsets, [8 * MB, 16 * MB], 'the first piece is not sent again')
    const [stored] = (await user.client.files.search({ q: 'large' })).content
    assert.equal(stored?.folder, '/works')
    assert.equal(stored?.size, LARGE.length)
    await page.reload()
    await signInAs(page, user)
    await goTo(page, '')
    assert.equal(await page.locator('.uploads li').count(), 0, 'and is not sent a second time')
  })

  test('an upload is paused, resumed, and goes on by itself when the connection is back', async (t) => {
    const user = await newUser()
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await signInAs(page, user)
    await goTo(page, '')
    const { stop, begun } = await holdFrom(page, 2)
    await page.getByLabel('Files to upload').setInputFiles(large)
    await begun

    await page.getByRole('button', { name: 'Pause large.txt' }).click()
    const row = page.locator('.uploads li', { hasText: 'large.txt' })
    await row.getByText('paused', { exact: true }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.locator('button:focus', { hasText: 'Resume' }).waitFor()
    await stop()
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Resume large.txt' }).click()
    await page.getByText('The service does not answer.').waitFor()
    const offsets = sentOffsets(page)
    await page.context().setOffline(false)

    await row.getByText('stored', { exact: true }).waitFor()
    assert.deepEqual(offsets, [8 * MB, 16 * MB])
    await card(page, 'large.txt').waitFor()
  })

  test('a browser that is offline for long still goes on by itself', async (t) => {
    const user = await newUser()
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await page.clock.install()
    await signInAs(page, user)
    await goTo(page, '')
    const { stop, begun } = await holdFrom(page, 2)
    await page.getByLabel('Files to upload').setInputFiles(large)
    await begun
    await page.getByRole('button', { name: 'Pause large.txt' }).click()
    await stop()
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Resume large.txt' }).click()
    await page.getByText('The service does not answer.').waitFor()

    for (let round = 0; round < 12; round += 1) await passTime(page)
    await page.context().setOffline(false)

    await card(page, 'large.txt').waitFor()
  })

  test('an upload that the service did not answer for minutes goes on after a reload', async (t) => {
    const user = await newUser()
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await page.clock.install()
    await signInAs(page, user)
    await goTo(page, '')
    await page.route('**/file/uploads/*', (route) => route.abort())
    await page.getByLabel('Files to upload').setInputFiles(large)
    const row = page.locator('.uploads li', { hasText: 'large.txt' })
    const refused = async () => {
      await passTime(page)
      return row.getByText('refused', { exact: true }).count()
    }
    await until(refused, (count) => count > 0)

    await page.reload()
    await page.unroute('**/file/uploads/*')
    await signInAs(page, user)
    await goTo(page, '')

    await card(page, 'large.txt').waitFor()
    await until(
      () => keptIn(page),
      (count) => count === 0,
    )
  })

  test('a failed upload that is cleared from the list is not sent after a reload', async (t) => {
    const user = await newUser()
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await signInAs(page, user)
    await goTo(page, '')
    await page.route('**/file', (route) => route.abort())
    await page.getByLabel('Files to upload').setInputFiles(textFile('dropped.txt', 'dropped'))
    await page.locator('.uploads li', { hasText: 'refused' }).waitFor()
    assert.equal(await keptIn(page), 1)

    await page.getByRole('button', { name: 'Clear finished' }).click()

    await until(
      () => keptIn(page),
      (count) => count === 0,
    )
  })

  test('a large file that the service refuses is not sent again after a reload', async (t) => {
    const user = await newUser()
    for (const name of ['one.txt', 'two.txt']) await beginUpload(user, name, 95 * MB)
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await signInAs(page, user)
    await goTo(page, '')
    let begun = 0
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/file/uploads')) begun += 1
    })
    await page.getByLabel('Files to upload').setInputFiles(large)
    const row = page.locator('.uploads li', { hasText: 'large.txt' })
    await row.getByText('refused', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Try again' }).click()
    await until(
      () => begun,
      (count) => count === 2,
    )
    await row.getByText('refused', { exact: true }).waitFor()
    await until(
      () => keptIn(page),
      (count) => count === 0,
    )

    await page.reload()
    await signInAs(page, user)
    await goTo(page, '')
    await page.getByRole('list', { name: 'Unfinished uploads' }).waitFor()

    assert.equal(await keptIn(page), 0)
    assert.equal(await page.locator('.uploads li').count(), 0)
    assert.equal(begun, 2)
  })

  test('what another browser began is listed, goes on with the same file, or is aborted', async (t) => {
    const user = await newUser()
    for (const name of ['film.txt', 'dropped.txt']) await beginUpload(user, name, 10)
    const page = await openAs(t, user)
    const list = page.getByRole('list', { name: 'Unfinished uploads' })
    await list.locator('.upload-name', { hasText: 'film.txt' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    const heard = await listen(page)

    await list.getByLabel('The file film.txt').setInputFiles(textFile('film.txt', 'too short'))
    await heard('That is another file: film.txt of 9 bytes instead of film.txt of 10.')
    await list.getByLabel('The file film.txt').setInputFiles(textFile('film.txt', '0123456789'))
    await card(page, 'film.txt').waitFor()
    await list.getByRole('button', { name: 'Abort dropped.txt' }).click()
    await list.getByRole('button', { name: 'Abort it' }).click()

    await list.waitFor({ state: 'detached' })
    assert.deepEqual(
      await user.client.uploads.list().then((all) => all.filter((one) => !one.fileId)),
      [],
    )
    assert.equal((await user.client.usage.get()).uploadingBytes, 0)
  })

  test('a form that was stored while the page was left is not sent again', async (t) => {
    const user = await newUser()
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await signInAs(page, user)
    await goTo(page, '')
    const stored = Promise.withResolvers<void>()
    await page.route('**/file', async (route) => {
      await route.fetch()
      stored.resolve()
    })
    await page.getByLabel('Files to upload').setInputFiles(textFile('once.txt', 'only once'))
    await stored.promise

    await page.reload()
    await page.unroute('**/file')
    await signInAs(page, user)
    await goTo(page, '')

    await page.locator('.uploads li', { hasText: 'once.txt' }).getByText('stored').waitFor()
    assert.equal((await user.client.files.list()).length, 1)
    assert.equal(await keptIn(page), 0)
  })

  test('a changed file is sent, although one of its name and size was stored meanwhile', async (t) => {
    const user = await newUser()
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await signInAs(page, user)
    await goTo(page, '')
    const asked = Promise.withResolvers<void>()
    await page.route('**/file', () => asked.resolve())
    await page.getByLabel('Files to upload').setInputFiles(textFile('notes.txt', 'after'))
    await asked.promise
    await put(user, 'notes.txt', '/', 'until')

    await page.reload()
    await page.unroute('**/file')
    await signInAs(page, user)
    await goTo(page, '')

    await page.locator('.uploads li', { hasText: 'notes.txt' }).getByText('stored').waitFor()
    const files = await user.client.files.list()
    const bytes = await Promise.all(files.map(({ id }) => user.client.files.download(id)))
    const texts = await Promise.all(bytes.map((each) => each.text()))
    assert.deepEqual(texts.toSorted(), ['after', 'until'])
  })

  test('an upload that is resumed with another file of the same name and size is refused', async (t) => {
    const user = await newUser()
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await signInAs(page, user)
    await goTo(page, '')
    const { begun } = await holdFrom(page, 2)
    await page.getByLabel('Files to upload').setInputFiles(large)
    await begun
    const elsewhere = await openAs(t, user)
    const list = elsewhere.getByRole('list', { name: 'Unfinished uploads' })

    const other = await largeFile(t, LARGE.toUpperCase())
    await list.getByLabel('The file large.txt').setInputFiles(other)

    await elsewhere
      .getByRole('alert')
      .filter({ hasText: 'does not have the SHA-256 that was given at its creation' })
      .waitFor()
    assert.deepEqual(await user.client.files.list(), [])
  })

  test('a tab of another user does not keep the uploads of the first from going on', async (t) => {
    const [user, other] = [await newUser(), await newUser()]
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await signInAs(page, user)
    await goTo(page, '')
    const { stop, begun } = await holdFrom(page, 1)
    await page.getByLabel('Files to upload').setInputFiles(large)
    await begun
    await page.reload()
    await stop()
    const second = await page.context().newPage()
    await second.goto(consoleOf(service))
    await signInAs(second, other)
    await goTo(second, '')
    await second.getByText('No files yet').waitFor()

    await signInAs(page, user)
    await goTo(page, '')

    await card(page, 'large.txt').waitFor()
  })

  test('a second tab of the same user leaves to the first what that is sending', async (t) => {
    const user = await newUser()
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await signInAs(page, user)
    await goTo(page, '')
    const { stop, begun } = await holdFrom(page, 1)
    await page.getByLabel('Files to upload').setInputFiles(large)
    await begun

    const second = await page.context().newPage()
    await second.goto(consoleOf(service))
    await signInAs(second, user)
    await goTo(second, '')
    await second.getByRole('list', { name: 'Unfinished uploads' }).waitFor()
    assert.equal(await second.locator('.uploads li').count(), 0)
    await second.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await second.getByText('Not signed in.').waitFor()

    assert.equal(await keptIn(page), 1, 'nor does a log-out there end it')
    await stop()
  })

  test('files that one user queued are not kept for the next user of the browser', async (t) => {
    const [user, next] = [await newUser(), await newUser()]
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await signInAs(page, user)
    await goTo(page, '')
    const { stop, begun } = await holdFrom(page, 1)
    await page.getByLabel('Files to upload').setInputFiles(large)
    await begun
    assert.equal(await keptIn(page), 1)

    await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await until(
      () => keptIn(page),
      (count) => count === 0,
    )
    await stop()
    await signInAs(page, next)
    await goTo(page, '')
    await page.getByText('No files yet').waitFor()

    assert.equal(await page.getByText('large.txt').count(), 0)
  })

  test('a picture is shown in a chosen size and format, with the address that draws it', async (t) => {
    const user = await newUser()
    const { buffer } = samplePng('lake.png')
    const picture = new Blob([new Uint8Array(buffer)], { type: 'image/png' })
    const { id, checksumSha256 } = await user.client.files.upload(picture, 'lake.png')
    const page = await openAs(t, user, `files/${id}`)
    const shown = page.locator('.preview img')
    const widthIs = (width: number) =>
      until(
        () => shown.evaluate((image: { naturalWidth: number }) => image.naturalWidth),
        (found) => found === width,
      )
    const heard = await listen(page)

    await page.getByLabel('Size').selectOption('128 px wide')
    await page.getByLabel('Format').selectOption('WEBP')
    await heard('WEBP, ')
    await widthIs(128)
    const v = checksumSha256.slice(0, 16)
    const path = `/file/picture/${id}?width=128&format=webp&v=${v}`
    await page.locator('code.address', { hasText: path }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Copy the address' }).click()
    const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
    await until(copied, (text) => text === service + path)
    await page.getByLabel('Size').selectOption('Preset avatar')

    await widthIs(96)
    await page.locator('code.address', { hasText: 'preset=avatar' }).waitFor()
  })

  test('a new version replaces only what the page shows, and an earlier one is saved, restored and deleted', async (t) => {
    const user = await newUser()
    const { id } = await put(user, 'text.txt', '/', 'first')
    const page = await openAs(t, user, `files/${id}`)
    const versions = page.getByRole('region', { name: 'Versions of this file' })
    await versions.getByRole('row', { name: /current/ }).waitFor()
    const heard = await listen(page)

    await page.getByLabel('New version').setInputFiles(textFile('other name.txt', 'second'))
    await heard('Version 2 is stored.')
    await page.locator('.preview').getByText('second').waitFor()
    await page.getByRole('heading', { level: 1, name: 'text.txt' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      versions.getByRole('button', { name: 'Save version 1' }).click(),
    ])
    assert.equal(saved.suggestedFilename(), 'text (version 1).txt')
    assert.equal(await readFile(await saved.path(), 'utf8'), 'first')
    await versions.getByRole('button', { name: 'Restore of version 1' }).click()
    await page.locator('.preview').getByText('first').waitFor()
    await versions.getByRole('button', { name: 'Delete of version 2' }).click()
    await versions.getByRole('button', { name: 'Remove it' }).click()
    await versions.getByRole('button', { name: 'Save version 2' }).waitFor({ state: 'detached' })

    await user.client.files.replace(id, new Blob(['elsewhere'], { type: 'text/plain' }), 'text.txt')
    await page.getByLabel('New version').setInputFiles(textFile('late.txt', 'too late'))
    await page.getByText('Someone has replaced it meanwhile.').waitFor()
    assert.equal(await (await user.client.files.download(id)).text(), 'elsewhere')
  })

  test('name, folder, tags and metadata are changed together, and only what differs is sent', async (t) => {
    const user = await newUser()
    const { id } = await put(user, 'draft.txt')
    const page = await openAs(t, user, `files/${id}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    const form = page.getByRole('form', { name: 'Change the file' })
    await form.getByLabel('Name').fill('final.txt')
    await form.getByLabel('Folder').fill('/papers')
    await form.getByLabel('Tags').fill('work, 2026')
    await form.getByRole('textbox', { name: /^Metadata/ }).fill('no sign')
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Each line of the metadata needs a name').waitFor()

    await form.getByRole('textbox', { name: /^Metadata/ }).fill('author=Ada')
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.method() === 'PATCH'),
      form.getByRole('button', { name: 'Save' }).click(),
    ])
    await page.getByText('Saved.').waitFor()
    await page.getByRole('heading', { level: 1, name: 'final.txt' }).waitFor()
    assert.deepEqual(request.postDataJSON(), {
      originalFilename: 'final.txt',
      folder: '/papers',
      tags: ['work', '2026'],
      metadata: { author: 'Ada' },
    })
    await form.getByLabel('Name').fill('final.pdf')
    const [second] = await Promise.all([
      page.waitForRequest((sent) => sent.method() === 'PATCH'),
      form.getByRole('button', { name: 'Save' }).click(),
    ])
    assert.deepEqual(second.postDataJSON(), { originalFilename: 'final.pdf' })
    await page.getByRole('alert').filter({ hasText: 'its name must end in .txt' }).waitFor()

    const { tags, metadata, folder } = await user.client.files.get(id)
    assert.deepEqual(
      { tags, metadata, folder },
      {
        tags: ['work', '2026'],
        metadata: { author: 'Ada' },
        folder: '/papers',
      },
    )
  })

  test('tags with commas and metadata of several lines survive a change of something else', async (t) => {
    const user = await newUser()
    const { id } = await put(user, 'odd.txt')
    const metadata = { poem: 'two\nlines', padded: ' x ', plain: 'y' }
    await user.client.files.change(id, { tags: ['Paris, France', 'trip'], metadata })
    const page = await openAs(t, user, `files/${id}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    const form = page.getByRole('form', { name: 'Change the file' })
    const save = async () => {
      const [request] = await Promise.all([
        page.waitForRequest((sent) => sent.method() === 'PATCH'),
        form.getByRole('button', { name: 'Save' }).click(),
      ])
      return request.postDataJSON()
    }

    await form.getByLabel('Name').fill('even.txt')
    const renamed = await save()
    await page.getByRole('heading', { level: 1, name: 'even.txt' }).waitFor()
    await page.getByText('Not shown here, and kept: “Paris, France”.').waitFor()
    await page.getByText('Not shown here, and kept: “poem”, “padded”.').waitFor()
    await form.getByLabel('Tags').fill('trip, work')
    await form.getByRole('textbox', { name: /^Metadata/ }).fill('plain=z')
    await save()
    await page.locator('.facts').getByText('work', { exact: true }).waitFor()

    assert.deepEqual(renamed, { originalFilename: 'even.txt' })
    const changed = await user.client.files.get(id)
    assert.deepEqual(changed.tags.toSorted(), ['Paris, France', 'trip', 'work'])
    assert.deepEqual(changed.metadata, { ...metadata, plain: 'z' })
  })

  test('the bar says what files, versions, uploads and the trash take', async (t) => {
    const user = await newUser()
    const { id } = await put(user, 'kept.txt', '/', 'x'.repeat(3 * 1024))
    await user.client.files.replace(
      id,
      new Blob(['y'.repeat(2048)], { type: 'text/plain' }),
      'kept.txt',
    )
    await user.client.files.deleteRestorably(
      (await put(user, 'gone.txt', '/', 'z'.repeat(1024))).id,
    )
    await beginUpload(user, 'begun.txt', 5 * MB)

    const page = await openAs(t, user)

    const usage = page.getByRole('region', { name: 'Usage' })
    await usage
      .getByRole('img', { name: 'Files: 2 kB, Earlier versions: 3 kB, 1 unfinished upload: 5 MB' })
      .waitFor()
    await usage.getByText('You have stored 2 kB of 200 MB, 1 file.').waitFor()
    await usage.getByText('Trash: 1 kB, not counted').waitFor()
  })

  test('a piece of an upload is copied as a command that sends the same bytes', async (t) => {
    const user = await newUser()
    const page = await openConsole(t, browser, consoleOf(service), { viewport: WIDE })
    await signInAs(page, user)
    await goTo(page, '')
    const { stop, begun } = await holdFrom(page, 1)
    await page.getByLabel('Files to upload').setInputFiles(large)
    await begun
    await page.getByRole('button', { name: 'Pause large.txt' }).click()
    await stop()

    await showRequests(page, WIDE)
    await page.locator('.exchange-list button', { hasText: 'PATCH' }).first().click()
    await page.getByText('Run it in the folder of large.txt').waitFor()
    await page.getByRole('button', { name: 'Copy with my token' }).click()
    const command = await page.evaluate<string>('navigator.clipboard.readText()')
    await run('sh', ['-c', command], { cwd: dirname(large) })

    const [upload] = await user.client.uploads.list()
    assert.equal(upload?.offset, 8 * MB)
    await page.getByRole('button', { name: 'Resume large.txt' }).click()
    await card(page, 'large.txt').waitFor()
    const [stored] = (await user.client.files.search({ q: 'large' })).content
    const bytes = await (await user.client.files.download(stored?.id ?? 0)).text()
    assert.ok(bytes === LARGE)
  })

  test('an administrator sees the files of everyone, and the own folders apart', async (t) => {
    const user = await newUser()
    await put(user, 'of-another.txt', '/private')
    const page = await openConsole(t, browser, consoleOf(service))
    await signIn(page, 'admin')
    await goTo(page, '')
    await page.getByLabel('Files to upload').setInputFiles(textFile('of-admin.txt', 'mine'))
    await card(page, 'of-another.txt').waitFor()
    await card(page, 'of-admin.txt').waitFor()

    await goTo(page, '?in=%2F')

    await page.getByRole('heading', { name: 'Your files', level: 1 }).waitFor()
    await card(page, 'of-another.txt').waitFor({ state: 'detached' })
    await card(page, 'of-admin.txt').waitFor()
    assert.equal(await page.getByRole('link', { name: 'private' }).count(), 0)
  })

  async function beginUpload({ username, password }: User, name: string, length: number) {
    const body = JSON.stringify({ username, password })
    const json = { 'content-type': 'application/json' }
    const login = await fetch(`${service}/api/auth/login`, { method: 'POST', headers: json, body })
    const { accessToken } = (await login.json()) as { accessToken: string }
    const headers = {
      authorization: `Bearer ${accessToken}`,
      'tus-resumable': '1.0.0',
      'upload-length': String(length),
      'upload-metadata': `filename ${btoa(name)},filetype ${btoa('text/plain')}`,
    }
    const reply = await fetch(`${service}/file/uploads`, { method: 'POST', headers })
    assert.equal(reply.status, 201)
  }
})

/** The path of a new `large.txt`. */
async function largeFile(t: Pick<TestContext, 'after'>, content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-large-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'large.txt')
  await writeFile(path, content)
  return path
}

/** Keeps the browser from sending the piece with this number, and those after it; `begun` resolves at that moment. */
async function holdFrom(page: Page, number: number) {
  const { promise: begun, resolve } = Promise.withResolvers<void>()
  let pieces = 0
  await page.route('**/file/uploads/*', async (route) => {
    if (route.request().method() !== 'PATCH') return route.continue()
    pieces += 1
    if (pieces < number) return route.continue()
    resolve()
  })
  return { begun, stop: () => page.unroute('**/file/uploads/*') }
}

/** Where each piece that is sent from now on begins. */
function sentOffsets(page: Page): number[] {
  const offsets: number[] = []
  page.on('response', (response) => {
    const request = response.request()
    if (request.method() === 'PATCH') offsets.push(Number(request.headers()['upload-offset']))
  })
  return offsets
}

/** Half a minute of the page's clock, and as much real time as a request needs. */
async function passTime(page: Page): Promise<void> {
  await page.clock.runFor(30_000)
  await page.evaluate("fetch('facts.json').then(() => {}, () => {})")
}

function keptIn(page: Page): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve, reject) => {
    const opening = indexedDB.open('plinth-uploads')
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const counting = opening.result.transaction('uploads').objectStore('uploads').count()
      counting.onsuccess = () => {
        opening.result.close()
        resolve(counting.result)
      }
    }
  })`)
}
