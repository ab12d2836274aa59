import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkFile } from './file-check.ts'
import { declared, KNOWN_KINDS, kindsOf } from './file-kinds.ts'

const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0)
const file = (name: string, type: string, content: BlobPart) => new File([content], name, { type })

const REFUSED: [what: string, file: File, reason: RegExp][] = [
  ['an unknown extension', file('a.exe', 'image/png', PNG), /extension \.exe is not accepted/],
  ['no extension', file('picture', 'image/png', PNG), /extension none is not accepted/],
  ['another declared type', file('a.png', 'image/jpeg', PNG), /declared type is image\/jpeg/],
  ['no declared type', file('a.png', '', PNG), /declared type is none/],
  ['other bytes', file('a.png', 'image/png', '%PDF-1.7'), /bytes are PDF/],
  ['strange bytes', file('a.pdf', 'application/pdf', 'words'), /bytes are something else/],
  ['an empty file', file('a.png', 'image/png', ''), /empty/],
]

for (const [what, given, reason] of REFUSED)
  test(`refuses ${what}`, async () => {
    const verdict = await checkFile(given, KNOWN_KINDS)

    assert.equal(verdict.accepted, false)
    assert.match(verdict.reason ?? '', reason)
  })

test('accepts a picture whose extension, type and bytes agree, in upper case too', async () => {
  assert.equal((await checkFile(file('A.PNG', 'image/png', PNG), KNOWN_KINDS)).accepted, true)
})

test('accepts text, which has no signature, but not a picture named as text', async () => {
  const text = await checkFile(file('a.txt', 'text/plain', 'words'), KNOWN_KINDS)
  const disguised = await checkFile(file('a.txt', 'text/plain', PNG), KNOWN_KINDS)

  assert.equal(text.accepted, true)
  assert.equal(disguised.accepted, false)
})

test('accepts types that a setting of the service adds, even if the browser does not know them', async () => {
  const kinds = kindsOf([
    { name: 'zip', mediaType: 'application/zip', extensions: ['.zip'] },
    { name: 'docx', mediaType: 'application/x.openxmlformats.docx', extensions: ['.docx'] },
    { name: 'md', mediaType: 'text/markdown', extensions: ['.md'] },
    {
      name: 'csv',
      mediaType: 'text/csv',
      extensions: ['.csv'],
      alsoDeclared: ['application/vnd.ms-excel'],
    },
  ])
  const taken = async (given: File) => (await checkFile(declared(given, kinds), kinds)).accepted

  assert.equal(await taken(file('a.md', '', '# words')), true)
  assert.equal(await taken(file('a.docx', '', 'PK\x03\x04...')), true)
  assert.equal(await taken(file('a.docx', '', 'words')), false)
  assert.equal(await taken(file('a.csv', 'application/vnd.ms-excel', 'a,b')), true)
})
