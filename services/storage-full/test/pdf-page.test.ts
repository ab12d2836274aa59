import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { firstPageOf } from '../src/thumbnails/pdf-page.ts'
import { temporaryFolder } from './start-storage.ts'

const PAGELESS = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n' +
    '2 0 obj<</Type/Pages/Kids[]/Count 1>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n',
)

test('a document that cannot be drawn has no page', async (t) => {
  const path = join(await temporaryFolder(t), 'x.pdf')
  for (const bytes of [Buffer.from('%PDF-1.4\nno document'), PAGELESS]) {
    await writeFile(path, bytes)

    assert.equal(await firstPageOf(path, 60_000), undefined)
  }
})

test('a document that cannot be read is undecided', async (t) => {
  assert.equal(await firstPageOf(await temporaryFolder(t), 60_000), 'undecided')
})
