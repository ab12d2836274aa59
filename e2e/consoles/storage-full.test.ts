import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { s3Missing, startS3 } from '../../test/servers/s3.ts'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults, listen } from './accessibility.ts'
import { logOutExpired } from './expired-session.ts'
import { samplePng, silentMp3, textFile } from './sample-files.ts'
import { collectTokens, findTokens } from './token-probe.ts'
import { consoleOf, goTo, letGoOn, openConsole, signIn } from './watched-page.ts'

const skip = await browserSkip()
const noS3 = skip || (await s3Missing())

type Player = {
  readyState: number
  duration: number
  addEventListener(event: string, listener: () => void): void
}

/** Runs in the page: the duration that the player reports once it has loaded the metadata. */
const durationOf = (player: Player) =>
  new Promise<number>((resolve, reject) => {
    if (player.readyState > 0) resolve(player.duration)
    player.addEventListener('loadedmetadata', () => resolve(player.duration))
    player.addEventListener('error', () => reject(new Error('The player cannot play it.')))
  })

// biome-ignore lint/suspicious/noExplicitAny: runs in the page, whose types Node does not know.
const colourOf = (element: any) => element.ownerDocument.defaultView.getComputedStyle(element).color

// biome-ignore lint/suspicious/noExplicitAny: the same.
const positionOf = (image: any) =>
  image.ownerDocument.defaultView.getComputedStyle(image).objectPosition

const TALL_PDF =
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n' +
  '2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n' +
  '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 300]>>endobj\n' +
  'trailer<</Root 1 0 R>>\n%%EOF\n'

/** Holds restore requests in the browser until they are released. */
async function holdRestores(page: Page) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let count = 0
  await page.route('**/restore', async (route) => {
    count += 1
    await released
    await route.continue()
  })
  return { release, count: () => count }
}

/** What the operating system does when files and folders are dragged into the page. */
async function dropOn(page: Page, paths: string[]): Promise<void> {
  const zone = await page.locator('.drop-zone').boundingBox()
  const at = { x: (zone?.x ?? 0) + 9, y: (zone?.y ?? 0) + 9 }
  const browserItself = await page.context().newCDPSession(page)
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await browserItself.send('Input.dispatchDragEvent', {
      ...{ type, ...at, data: { items: [], files: paths, dragOperationsMask: 1 } },
    })
}

describe('the full edition’s workbench', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let address: string

  before(async () => {
    browser = await openBrowser(shared)
    const suite = await startSuite(shared, { STORAGE_FULL_USER_FILES: '200' })
    address = consoleOf(suite.urlOf('storage-full'))
  })

  async function openFiles(t: { after(cleanup: () => Promise<void>): void }): Promise<Page> {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'user')
    await goTo(page, '')
    return page
  }

  test('logs out after the access token expired, and the session is over', async (t) => {
    await logOutExpired(await openConsole(t, browser, address), address)
  })

  test('refuses a file whose bytes contradict its name, and shows what disagrees', async (t) => {
    const page = await openFiles(t)

    const heard = await listen(page)
    await page
      .getByLabel('Files to upload')
      .setInputFiles(textFile('report.pdf', 'plain words', 'application/pdf'))

    await page.getByText('The extension says PDF, but the bytes are something else.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Send it anyway' }).click()
    await page.getByRole('alert').filter({ hasText: 'all three must agree' }).waitFor()
    await heard('all three must agree')
  })

  test('accepts a pasted and a dropped picture', async (t) => {
    const page = await openFiles(t)
    const { buffer } = samplePng('picture.png', 2)

    await page.evaluate(`{
      const bytes = Uint8Array.from(atob('${buffer.toString('base64')}'), (c) => c.charCodeAt(0))
      const transfer = (name) => {
        const data = new DataTransfer()
        data.items.add(new File([bytes], name, { type: 'image/png' }))
        return data
      }
      dispatchEvent(new ClipboardEvent('paste', { clipboardData: transfer('pasted.png') }))
      const drop = new DragEvent('drop', { dataTransfer: transfer('dropped.png'), bubbles: true })
      document.querySelector('.drop-zone').dispatchEvent(drop)
    }`)

    await page.locator('.file-grid li', { hasText: 'pasted.png' }).waitFor()
    await page.locator('.file-grid li', { hasText: 'dropped.png' }).waitFor()
  })

  test('cancels an upload and tries it again', async (t) => {
    const page = await openFiles(t)
    const held = Promise.withResolvers<void>()
    await page.route('**/file', async (route) => {
      await held.promise
      await route.abort().catch(() => {})
    })

    await page.getByLabel('Files to upload').setInputFiles(samplePng('slow.png', 1))
    await page.getByText('sending', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('cancelled', { exact: true }).waitFor()
    held.resolve()
    await page.unroute('**/file')
    await page.getByRole('button', { name: 'Try again' }).click()

    await page.locator('.file-grid li', { hasText: 'slow.png' }).waitFor()
  })

  test('what one user queued is neither uploaded nor shown as the next user of the tab', async (t) => {
    const page = await openFiles(t)
    const held = Promise.withResolvers<void>()
    const sent: string[] = []
    await page.route('**/file', async (route) => {
      sent.push(route.request().headers().authorization ?? '')
      await held.promise
      await letGoOn(route)
    })
    const files = [1, 2, 3, 4, 5].map((n) => textFile(`private-${n}.txt`, `private ${n}`))
    await page.getByLabel('Files to upload').setInputFiles(files)
    await page.locator('.uploads li', { hasText: 'sending' }).nth(2).waitFor()

    await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
    await signIn(page, 'admin')
    await goTo(page, '')
    held.resolve()
    await page.getByLabel('Files to upload').setInputFiles(textFile('own.txt', 'own'))
    await page.locator('.uploads li', { hasText: 'own.txt' }).getByText('stored').waitFor()

    assert.equal(await page.getByText(/private-\d/).count(), 0)
    assert.equal(new Set(sent.slice(0, 3)).size, 1, 'three were under way as the first user')
    assert.equal(sent.length, 4, 'nothing but the file of the second user followed')
  })

  test('folders that are dropped keep their files, their folders, and those without a file', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'plinth-dropped-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    for (const path of ['holiday/2026', 'bare'])
      await mkdir(join(folder, path), { recursive: true })
    for (const path of ['before.txt', 'holiday/plan.txt', 'holiday/2026/list.txt', 'after.txt'])
      await writeFile(join(folder, path), `at ${path}`)
    const page = await openFiles(t)

    await dropOn(
      page,
      ['before.txt', 'holiday', 'bare', 'after.txt'].map((name) => join(folder, name)),
    )

    await page.locator('.file-grid li', { hasText: 'after.txt' }).waitFor()
    await page.locator('.file-grid li', { hasText: 'before.txt' }).waitFor()
    const below = page.getByRole('list', { name: 'Folders in this one' })
    await below.getByRole('link', { name: 'bare' }).waitFor()
    await below.getByRole('link', { name: 'holiday' }).click()
    await page.locator('.file-grid li', { hasText: 'plan.txt' }).waitFor()
    await below.getByRole('link', { name: '2026' }).click()
    await page.locator('.file-grid li', { hasText: 'list.txt' }).waitFor()
    const way = page.getByRole('navigation', { name: 'Folder' })
    assert.deepEqual(await way.getByRole('link').allInnerTexts(), ['Your files', 'holiday', '2026'])
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('a dropped folder of which a part cannot be read is reported as incomplete', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'plinth-dropped-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    await mkdir(join(folder, 'broken'))
    await writeFile(join(folder, 'broken', 'first.txt'), 'first')
    const page = await openFiles(t)
    await page.evaluate(`{
      const item = DataTransferItem.prototype
      const { webkitGetAsEntry } = item
      item.webkitGetAsEntry = function () {
        const entry = webkitGetAsEntry.call(this)
        const reader = Object.getPrototypeOf(entry.createReader())
        const { readEntries } = reader
        reader.readEntries = function (found, failed) {
          reader.readEntries = (_, failsNow) => failsNow(new Error('The disk is gone.'))
          readEntries.call(this, found, failed)
        }
        return entry
      }
    }`)

    await dropOn(page, [join(folder, 'broken')])

    const reported = 'the browser could not read everything in /broken'
    await page.getByRole('alert').filter({ hasText: reported }).waitFor()
    await page.locator('.uploads li', { hasText: 'first.txt' }).getByText('stored').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('previews, downloads, and shares by a link that can be revoked', async (t) => {
    const page = await openFiles(t)
    const picture = samplePng('harbour.png', 1.5)
    await page.getByLabel('Files to upload').setInputFiles(picture)
    await page.locator('.file-grid a', { hasText: 'harbour.png' }).click()

    await page.locator('.preview img').waitFor()
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    assert.deepEqual(readFileSync(await (await downloading).path()), picture.buffer)

    const heard = await listen(page)
    await page.getByRole('button', { name: '1 hour' }).click()
    await page.getByRole('img', { name: 'QR code of the link' }).waitFor()
    await heard('The link is ready.')
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Copy the link' }).click()
    await heard('Copied')
    const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
    const link = await until(copied, (text) => text.startsWith(new URL(address).origin))
    const shared = await fetch(link)
    assert.deepEqual(Buffer.from(await shared.arrayBuffer()), picture.buffer)
    const opened = page
      .getByLabel('Links to this file')
      // In a narrow table the column title is part of the cell's name.
      .getByRole('cell', { name: /^(Opened ?)?1$/ })
    const reload = async () => {
      await page.evaluate(`dispatchEvent(new Event('focus'))`)
      return opened.count()
    }
    await until(reload, (count) => count === 1)

    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Stop it' }).click()
    await page.getByRole('button', { name: 'Revoke' }).waitFor({ state: 'detached' })
    await page.getByText('The link is ready.').waitFor({ state: 'detached' })
    assert.equal((await fetch(link)).status, 404)
  })

  test('a preview that cannot be loaded says why, and leaving one ends its download', async (t) => {
    const page = await openFiles(t)
    await page.getByLabel('Files to upload').setInputFiles(samplePng('lost.png', 1.5))
    const refused = { status: 503, json: { detail: 'The bucket does not answer.' } }
    await page.route('**/file/stream/*', (route) => route.fulfill(refused))
    await page.locator('.file-grid a', { hasText: 'lost.png' }).click()
    await page.locator('.preview').getByText('The bucket does not answer.').waitFor()
    await goTo(page, '')
    await page.unroute('**/file/stream/*')
    const asked = Promise.withResolvers<void>()
    await page.route('**/file/stream/*', () => asked.resolve())
    await page.locator('.file-grid a', { hasText: 'lost.png' }).click()
    await asked.promise

    const ended = page.waitForEvent('requestfailed', (request) => /stream/.test(request.url()))
    await goTo(page, 'profile')

    await ended
  })

  test('plays media without a link, and a link plays in its own tab', async (t) => {
    const page = await openFiles(t)
    await page.getByLabel('Files to upload').setInputFiles(silentMp3('silence.mp3'))
    await page.locator('.file-grid a', { hasText: 'silence.mp3' }).click()
    const player = page.locator('.preview audio')

    const seconds = await player.evaluate(durationOf)

    assert.match((await player.getAttribute('src')) ?? '', /^blob:/)
    assert.equal(Math.round(seconds), 1)
    assert.equal(await page.getByRole('button', { name: 'Revoke' }).count(), 0)
    await page.getByRole('button', { name: '5 minutes' }).click()
    const link = await page.getByRole('link', { name: /Open it/ }).getAttribute('href')
    await page.goto(link ?? '')
    assert.equal(Math.round(await page.locator('video').evaluate(durationOf)), 1)
  })

  test('opens a video without making a link', async (t) => {
    const page = await openFiles(t)
    const film = textFile('film.mp4', '\0\0\0\x10ftypisom\0\0\0\0', 'video/mp4')
    await page.getByLabel('Files to upload').setInputFiles(film)
    const card = page.locator('.file-grid a', { hasText: 'film.mp4' })
    await card.waitFor()
    const posted: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') posted.push(request.url())
    })

    await card.click()

    const player = page.locator('.preview video')
    assert.match((await player.getAttribute('src')) ?? '', /^blob:/)
    assert.deepEqual(posted, [])
    assert.equal(await page.getByRole('button', { name: 'Revoke' }).count(), 0)
  })

  test('leaves no token in any storage, cookie or global', async (t) => {
    const page = await openConsole(t, browser, address)
    const tokens = collectTokens(page)
    await signIn(page, 'user')
    await page.getByRole('button', { name: 'Refresh now' }).click()
    await page.getByText('rotated once').waitFor()
    await goTo(page, '')
    await page.getByLabel('Files to upload').setInputFiles(samplePng('secretless.png', 2))
    const card = page.locator('.file-grid li', { hasText: 'secretless.png' })
    await card.scrollIntoViewIfNeeded()
    await card.locator('img').waitFor()

    assert.deepEqual(await findTokens(page, await tokens(4)), [])
  })

  test('deletes at once, and can undo it while the notice is shown', async (t) => {
    const page = await openFiles(t)
    await page.getByLabel('Files to upload').setInputFiles(samplePng('old.png', 2.5))
    const card = page.locator('.file-grid li', { hasText: 'old.png' })
    await card.waitFor()
    await page.clock.install()
    const heard = await listen(page)

    await page.getByRole('button', { name: 'Delete old.png' }).click()
    await heard('Deleted old.png.')
    await card.waitFor({ state: 'detached' })
    await page.locator('.exchange-list button', { hasText: 'DELETE' }).waitFor()
    await page.clock.fastForward(6_000)
    const restores = await holdRestores(page)
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).dblclick()
    restores.release()
    await heard('Restored old.png.')
    assert.equal(restores.count(), 1)
    assert.equal(await page.locator(':focus').innerText(), 'Dismiss')
    await card.waitFor()
    await page.getByRole('button', { name: 'Delete old.png' }).click()
    await page.getByText('Deleted old.png').waitFor()
    await page.clock.fastForward(6_000)
    assert.equal(
      await page.getByText('Deleted old.png').count(),
      1,
      'the second notice has its own timer',
    )
    await page.clock.fastForward(4_000)

    await page.getByText('Deleted old.png').waitFor({ state: 'detached' })
    assert.equal(await card.count(), 0)
  })

  test('a double click deletes one file only, and a deletion keeps the focus near it', async (t) => {
    // Scrolled down, where the notice above the list does not move the rows away from the pointer.
    const page = await openConsole(t, browser, address, { viewport: { width: 1280, height: 480 } })
    await signIn(page, 'user')
    await goTo(page, '')
    const names = Array.from({ length: 16 }, (_, index) => `double-${index}.txt`)
    await page
      .getByLabel('Files to upload')
      .setInputFiles(names.map((name) => textFile(name, name)))
    await page.locator('.uploads li', { hasText: 'stored' }).nth(15).waitFor()
    await page.getByRole('button', { name: 'Clear finished' }).click()
    await page.getByRole('button', { name: 'List', exact: true }).click()
    const deletions = page.getByRole('button', { name: /^Delete double-/ })

    await deletions.nth(8).dblclick()

    await page.getByText('Deleted double-').first().waitFor()
    assert.equal(await page.getByText('Deleted double-').count(), 1)
    assert.equal(await deletions.count(), 15)
    const next = await page
      .getByRole('link', { name: /^double-/ })
      .nth(9)
      .innerText()
    await deletions.nth(8).press('Enter')
    await page.getByText('Deleted double-').nth(1).waitFor()
    assert.equal(await page.locator(':focus').innerText(), next)
  })

  test('after every file in view was deleted, the next ones are loaded', async (t) => {
    const page = await openConsole(t, browser, address, { viewport: { width: 1280, height: 800 } })
    await signIn(page, 'user')
    const file = { id: 7, originalFilename: 'last.txt', contentType: 'text/plain', size: 3 }
    const place = { owner: 'user', ownerId: 2, provider: 'LOCAL', folder: '/' }
    const rows = [{ ...file, ...place, createdAt: '2026-01-01T00:00:00Z' }]
    await page.route('**/file/search?*', (route) => {
      const isNext = route.request().url().includes('cursor=more')
      const content = isNext ? [{ ...rows[0], id: 6, originalFilename: 'next.txt' }] : rows
      const nextCursor = isNext ? null : 'more'
      return route.fulfill({ json: { content, nextCursor, complete: true } })
    })
    await page.route('**/file/7?*', (route) => route.fulfill({ status: 204 }))
    await goTo(page, '')

    await page.getByRole('button', { name: 'Delete last.txt' }).click()

    await page.getByRole('link', { name: 'next.txt' }).waitFor()
  })

  test('restores several files at once, explains why one cannot be restored, and removes one for good', async (t) => {
    const page = await openFiles(t)
    const names = ['first.png', 'second.png', 'late.png', 'never.png']
    await page
      .getByLabel('Files to upload')
      .setInputFiles(names.map((name, index) => samplePng(name, index)))
    for (const name of names) await page.getByRole('button', { name: `Delete ${name}` }).click()
    for (const name of names) await page.getByText(`Deleted ${name}`).waitFor()
    const row = (of: Page, name: string) =>
      of.getByRole('region', { name: 'Deleted files' }).getByRole('row', { name })
    await goTo(page, 'trash')
    for (const name of names) await row(page, name).waitFor()
    const heard = await listen(page)

    const other = await openFiles(t)
    await goTo(other, 'trash')
    await row(other, 'late.png').getByRole('button', { name: 'Restore' }).click()
    await row(other, 'late.png').waitFor({ state: 'detached' })
    await row(page, 'late.png').getByRole('button', { name: 'Restore' }).click()
    const refusal = page.getByRole('listitem').filter({ hasText: 'Restore failed: late.png.' })
    await refusal.getByText('This file cannot be restored any more').waitFor()
    await row(page, 'late.png').waitFor({ state: 'detached' })
    await refusal.getByRole('button', { name: 'Dismiss' }).click()
    await refusal.waitFor({ state: 'detached' })
    assert.equal(await page.locator(':focus').innerText(), 'Trash')

    const restores = await holdRestores(page)
    for (const name of ['first.png', 'second.png'])
      await row(page, name).getByRole('button', { name: 'Restore' }).click()
    restores.release()
    for (const name of ['first.png', 'second.png']) await heard(`Restored ${name}.`)
    assert.equal(restores.count(), 2)
    await row(page, 'second.png').waitFor({ state: 'detached' })
    assert.equal(await page.locator(':focus').innerText(), 'Trash')

    await row(page, 'never.png').getByRole('button', { name: 'Remove' }).click()
    await row(page, 'never.png').getByRole('button', { name: 'Remove it' }).click()
    await heard('Removed never.png.')
    await row(page, 'never.png').waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Log out' }).click()
    await signIn(page, 'admin')
    await goTo(page, '')
    await page.locator('.file-grid li', { hasText: 'first.png' }).waitFor()
    assert.equal(await page.getByText('Removed never.png').count(), 0, 'not for the next user')
  })

  test('a deletion and its undo do not depend on the page staying open', async (t) => {
    const page = await openFiles(t)
    const picture = samplePng('gone.png', 1)
    await page.getByLabel('Files to upload').setInputFiles(picture)
    const card = (of: Page) => of.locator('.file-grid li', { hasText: 'gone.png' })
    await card(page).waitFor()
    await page.getByRole('button', { name: 'Delete gone.png' }).click()
    await card(page).waitFor({ state: 'detached' })
    await page.getByText('Deleted gone.png').waitFor()
    await page.close()

    const other = await openFiles(t)
    await other.locator('.file-grid li').first().waitFor()
    assert.equal(await card(other).count(), 0)
    await goTo(other, 'trash')
    const deleted = other.getByRole('region', { name: 'Deleted files' })
    await deleted.getByRole('row', { name: /gone\.png/ }).waitFor()
    assert.deepEqual(await accessibilityFaults(other), [])
    await deleted.getByRole('button', { name: 'Restore gone.png' }).click()

    await deleted.getByRole('row', { name: /gone\.png/ }).waitFor({ state: 'detached' })
    await goTo(other, '')
    await card(other).locator('a').click()
    const downloading = other.waitForEvent('download')
    await other.getByRole('button', { name: 'Download' }).click()
    assert.deepEqual(readFileSync(await (await downloading).path()), picture.buffer)
  })

  test('shows a PDF in a tab, and names types it cannot show', async (t) => {
    const page = await openFiles(t)
    const pdf = textFile('paper.pdf', TALL_PDF, 'application/pdf')
    const zip = textFile('box.zip', `PK\x05\x06${'\0'.repeat(18)}`, 'application/zip')
    await page.getByLabel('Files to upload').setInputFiles([pdf, zip])
    const paper = page.locator('.file-grid li', { hasText: 'paper.pdf' })
    await paper.scrollIntoViewIfNeeded()
    const picture = paper.locator('img')
    assert.equal(await picture.evaluate(positionOf), '50% 0%')

    await page.locator('.file-grid a', { hasText: 'paper.pdf' }).click()
    const open = page.getByRole('link', { name: /Open the PDF/ })
    assert.match((await open.getAttribute('href')) ?? '', /^blob:/)
    assert.deepEqual(await accessibilityFaults(page), [])
    await goTo(page, '')
    await page.locator('.file-grid a', { hasText: 'box.zip' }).click()

    await page.getByText('A file of this type cannot be shown here.').waitFor()
    await page.locator('.facts').getByText('22 bytes', { exact: true }).waitFor()
    await goTo(page, '')
    const box = page.locator('.file-grid li', { hasText: 'box.zip' })
    await box.scrollIntoViewIfNeeded()
    const placeholder = box.locator('.placeholder', { hasText: 'ZIP' })
    const colourIn = async (colorScheme: 'light' | 'dark') => {
      await page.emulateMedia({ colorScheme })
      return placeholder.evaluate(colourOf)
    }
    assert.notEqual(await colourIn('light'), await colourIn('dark'))
  })

  test('configures, tests and activates a local folder', async (t) => {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'admin')
    await storeFile(page, 'to-move.png')
    await goTo(page, 'storage')

    const heard = await listen(page)
    await page.getByLabel('Folder').fill('archive')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.getByText('Saved. Not active until you activate it below.').waitFor()
    await heard('Saved. Not active until you activate it below.')
    const card = (title: string) =>
      page.locator('.card', { has: page.getByRole('heading', { name: title }) })
    await card('In use').getByText('folder files').waitFor()
    await card('Drafts').getByText('folder archive').waitFor()
    await page.getByRole('button', { name: 'Test LOCAL' }).click()
    await page.getByLabel('Test steps').getByText('passed').first().waitFor()
    await heard('passed')
    const confirm = async (name: RegExp | string, question: string) => {
      await page.getByRole('button', { name }).click()
      await page.getByText(question).waitFor()
      await page.locator('button:focus', { hasText: 'No' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name }).click()
      await page.getByRole('button', { name: 'Yes' }).click()
    }
    await confirm(/Activate LOCAL/, 'Send all new files there?')

    await page.getByText('LOCAL is active. New files go there.').waitFor()
    await page.getByText('Saved. Not active').waitFor({ state: 'detached' })
    await card('In use').getByText('folder archive').waitFor()
    await card('Drafts').getByText('None.').waitFor()
    const places = page.getByRole('region', { name: 'Places with files' })
    await places.getByRole('row', { name: /folder archive LOCAL go here 0/ }).waitFor()
    await places.getByRole('row', { name: /folder files LOCAL – [1-9]/ }).waitFor()

    await confirm('Move everything to LOCAL', 'Move every stored file to LOCAL?')

    await card('Move stored files').getByText('done', { exact: true }).waitFor()
    await card('Move stored files')
      .getByText(/^(\d+) of \1 files moved to LOCAL$/)
      .waitFor()
    await places.getByRole('row', { name: /folder files/ }).waitFor({ state: 'detached' })
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('shows an administrator how much each owner stores, and the files of one owner', async (t) => {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'admin')
    await storeFile(page, 'of-admin.png')
    await goTo(page, 'owners')
    const owners = page.getByRole('region', { name: 'Usage of each owner' })
    await owners.getByRole('row', { name: /^admin \d+ of 200 / }).waitFor()
    await owners.getByRole('progressbar', { name: 'Quota of admin' }).waitFor()

    await owners.getByRole('link', { name: 'admin', exact: true }).click()

    await page.getByRole('heading', { name: 'Files of admin' }).waitFor()
    const files = page.getByRole('region', { name: 'Files of this owner' })
    const first = files.locator('tbody tr').first()
    await first.getByText('admin', { exact: true }).waitFor()
    const name = await first.getByRole('link').innerText()
    assert.deepEqual(await accessibilityFaults(page), [])
    await first.getByRole('button', { name: `Delete ${name}` }).click()
    await page.getByText(`Deleted ${name}`).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await files.getByRole('link', { name, exact: true }).first().waitFor()
  })

  test('after the last file of the last page was deleted, the page before it is shown', async (t) => {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'admin')
    await goTo(page, '')
    const names = Array.from({ length: 26 }, (_, index) => `stacked-${index}.txt`)
    await page
      .getByLabel('Files to upload')
      .setInputFiles(names.map((name) => textFile(name, name)))
    await page.locator('.uploads li', { hasText: 'stored' }).nth(25).waitFor()
    await goTo(page, 'owners')
    await page.getByRole('link', { name: 'admin', exact: true }).click()
    const rows = page.getByRole('region', { name: 'Files of this owner' }).locator('tbody tr')
    await rows.nth(24).waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('Page 2 of 2').waitFor()

    await rows.first().waitFor()
    for (let left = await rows.count(); left > 0; left -= 1) {
      await rows
        .first()
        .getByRole('button', { name: /^Delete/ })
        .click()
      await page
        .getByText(/^Deleted /)
        .nth(0)
        .waitFor()
      if (left > 1)
        await until(
          () => rows.count(),
          (count) => count === left - 1,
        )
    }

    await rows.nth(24).waitFor()
    assert.equal(await page.getByText('This owner has stored none.').count(), 0)
  })

  test('explains a bucket that cannot be reached and leaves the active provider alone', async (t) => {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'admin')
    await goTo(page, 'storage')
    await page.getByRole('button', { name: 'OBJECT, an S3-style bucket' }).click()

    await page.getByLabel('Endpoint').fill('http://127.0.0.1:9')
    await page.getByLabel('Bucket', { exact: true }).fill('files')
    await page.getByLabel('Access key').fill('someone')
    await page.getByLabel('Secret key').fill('something')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.getByText('Saved. Not active').waitFor()
    await page.getByRole('button', { name: 'Test OBJECT' }).click()
    await page.locator('.main').getByText('The endpoint cannot be reached').waitFor()
    assert.equal(await page.locator('.notice.bad').count(), 0, 'what failed is said once')
    await page.getByRole('button', { name: 'Activate OBJECT' }).click()
    await page.getByRole('button', { name: 'Yes' }).click()

    await page.getByRole('alert').filter({ hasText: 'The test failed at' }).waitFor()
    const inUse = page.locator('.card', { has: page.getByRole('heading', { name: 'In use' }) })
    await inUse.getByText('LOCAL', { exact: true }).waitFor()
    const drafts = page.locator('.card', { has: page.getByRole('heading', { name: 'Drafts' }) })
    await drafts.getByText('bucket files at http://127.0.0.1:9').waitFor()
    assert.doesNotMatch(await page.locator('.inspector').innerText(), /something/)
  })

  test('moves to an S3-style store: configure, test, activate, upload, move the rest', {
    skip: noS3,
  }, async (t) => {
    const { settings, pause, resume } = await startS3(t)
    const page = await openConsole(t, browser, address)
    await signIn(page, 'admin')
    await goTo(page, 'storage')
    await page.getByRole('button', { name: 'OBJECT, an S3-style bucket' }).click()
    await page.getByLabel('Endpoint').fill(settings.endpoint)
    await page.getByLabel('Bucket', { exact: true }).fill(settings.bucket)
    await page.getByLabel('Access key').fill(settings.accessKey)
    await page.getByLabel('Secret key').fill(settings.secretKey)

    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.getByText('Saved. Not active').waitFor()
    await page.getByRole('button', { name: 'Test OBJECT' }).click()
    await page.locator('.step.done', { hasText: 'Test' }).waitFor()
    await page.getByRole('button', { name: 'Activate OBJECT' }).click()
    await page.getByRole('button', { name: 'Yes' }).click()
    await page.getByText('OBJECT is active. New files go there.').waitFor()
    await goTo(page, '')
    await page.getByLabel('Files to upload').setInputFiles(samplePng('in-bucket.png', 2))

    await page.locator('.file-grid li', { hasText: 'in-bucket.png' }).getByText('OBJECT').waitFor()
    await goTo(page, 'storage')
    const card = page.locator('.card', {
      has: page.getByRole('heading', { name: 'Move stored files' }),
    })
    const begun = page.waitForResponse(
      (reply) => reply.request().method() === 'POST' && reply.url().endsWith('/api/storage/moves'),
    )
    await card.getByRole('button', { name: 'Move everything to OBJECT' }).click()
    await card.getByRole('button', { name: 'Yes' }).click()
    await begun
    // With a paused store, the move keeps running while the page is checked.
    pause()
    await card.getByText('running', { exact: true }).waitFor()
    await card.getByText(/^\d+ of \d+ files moved to OBJECT$/).waitFor()
    await card.getByRole('progressbar', { name: 'Files moved' }).waitFor()
    await card.getByRole('button', { name: 'Stop' }).waitFor()
    resume()

    await card.getByText('done', { exact: true }).first().waitFor()
    await card.getByText(/^(\d+) of \1 files moved to OBJECT$/).waitFor()
    await card.getByText('Took', { exact: true }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('follows a move again after the service did not answer for a moment', async (t) => {
    const page = await openConsole(t, browser, address)
    await signIn(page, 'admin')
    const move = {
      ...{ id: 1, to: 'LOCAL', state: 'RUNNING', total: 3, moved: 1, failed: 0, movedBytes: 9 },
      ...{ lastError: null, requestedBy: 'admin' },
      ...{ createdAt: '2026-01-02T12:00:00Z', updatedAt: '2026-01-02T12:00:01Z' },
    }
    let asked = 0
    await page.route('**/api/storage/moves', (route) => {
      asked += 1
      if (asked === 2) return route.abort()
      return route.fulfill({ json: [asked < 4 ? move : { ...move, state: 'DONE', moved: 3 }] })
    })

    await goTo(page, 'storage')

    await page.getByText('3 of 3 files moved to LOCAL').waitFor()
  })

  test('names the file of an address that leads to none, and says why', async (t) => {
    const page = await openFiles(t)

    for (const [id, why] of [
      ['abc', 'id: must be'],
      ['-1', 'id: must be'],
      ['99999999999999999999', 'id: must be'],
      ['424242', 'There is no file with this id.'],
    ] as const) {
      await goTo(page, `files/${id}`)

      await page.getByRole('heading', { name: `File ${id}` }).waitFor()
      await page.getByRole('alert').getByText(why).waitFor()
    }
    await goTo(page, 'files')
    await page.getByRole('heading', { name: 'Your files' }).waitFor()
  })

  test('tells a user without the role that storage is for administrators', async (t) => {
    const page = await openFiles(t)

    await goTo(page, 'storage')

    await page.getByText('Sign in as an administrator to administer storage.').waitFor()
  })
})

async function storeFile(page: Page, name: string): Promise<void> {
  await goTo(page, '')
  await page.getByLabel('Files to upload').setInputFiles(samplePng(name, 2))
  await page.locator('.uploads .badge.good').waitFor()
}
