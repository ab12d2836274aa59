import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asyncProperty, assert as check, constantFrom, uint8Array } from 'fast-check'
import { propertyRuns } from '../../../testing/property-runs.ts'
import { sampleFiles } from '../../../testing/sample-files.ts'
import { Problem } from '../../problems.ts'
import type { FileBytes } from '../disk.ts'
import { extensionOf, FILE_TYPES, type FileTypeName, fileTypes } from './catalogue.ts'
import { requireFileType } from './type.ts'

function bytesOf(content: Uint8Array): FileBytes {
  const buffer = Buffer.from(content)
  return {
    sizeBytes: buffer.length,
    read: async (start, length) => buffer.subarray(start, start + length),
  }
}

function examine(
  filename: string,
  declaredType: string,
  content: Uint8Array,
  accepted = FILE_TYPES,
) {
  return requireFileType({ filename, declaredType, bytes: bytesOf(content) }, accepted)
}

const NAMES = FILE_TYPES.map(({ name }) => name)
const BY_DEFAULT = FILE_TYPES.filter(({ onRequest }) => !onRequest)
/** Which of these a plain text is depends on its file name alone. */
const TEXTS: FileTypeName[] = ['txt', 'csv', 'json', 'md', 'svg']
/** Each of these is also a ZIP archive. */
const ARCHIVES: FileTypeName[] = ['docx', 'xlsx']
const isAlso = (name: FileTypeName, other: FileTypeName) =>
  (TEXTS.includes(name) && TEXTS.includes(other)) || (name === 'zip' && ARCHIVES.includes(other))
const signatureOf = (name: FileTypeName) =>
  TEXTS.includes(name) ? null : ARCHIVES.includes(name) ? 'zip' : name

const mediaType = (name: FileTypeName) => fileTypes([name])[0]?.mediaType ?? ''

describe('a file whose extension, declared type and content agree', () => {
  for (const name of NAMES)
    test(`is accepted: ${name}`, async () => {
      const { type } = await examine(`a.${name}`, mediaType(name), sampleFiles[name])

      assert.equal(type.name, name)
    })

  test('keeps its own extension, lower-cased', async () => {
    const { extension } = await examine('A.JPEG', 'IMAGE/JPEG', sampleFiles.jpg)

    assert.equal(extension, '.jpeg')
  })

  test('may be declared with the media type that Windows uses', async () => {
    await examine('a.zip', 'application/x-zip-compressed', sampleFiles.zip)
    await examine('a.mp3', 'audio/mp3', sampleFiles.mp3)
  })
})

describe('a mismatch is refused with the type that each of the three implies', () => {
  for (const name of NAMES)
    for (const other of NAMES.filter((each) => each !== name)) {
      if (!isAlso(name, other))
        test(`${name} by name and type, ${other} by content`, {
          skip: isAlso(name, other),
        }, async () => {
          await assert.rejects(
            examine(`a.${name}`, mediaType(name), sampleFiles[other]),
            (error) => {
              assert.ok(error instanceof Problem)
              assert.equal(error.code, 'FILE_TYPE_MISMATCH')
              // A text file has no signature, so it is recognised only where one is expected.
              const content = signatureOf(other)
              assert.deepEqual(error.extra.claims, { extension: name, declaredType: name, content })
              return true
            },
          )
        })
      test(`${name} by name and content, ${other} by declared type`, async () => {
        await assert.rejects(examine(`a.${name}`, mediaType(other), sampleFiles[name]), {
          code: 'FILE_TYPE_MISMATCH',
        })
      })
    }

  for (const declared of ['', 'image/png; charset=utf-8', 'image/png ', 'image/*', 'png'])
    test(`png declared as ${JSON.stringify(declared)}`, async () => {
      await assert.rejects(examine('a.png', declared, sampleFiles.png), {
        code: 'FILE_TYPE_MISMATCH',
        message: `declared ${declared || 'no type'}, expected image/png: send type=image/png`,
      })
    })

  test('the message shows the declared type, but cuts off a very long one', async () => {
    await assert.rejects(examine('a.png', 'x'.repeat(8000), sampleFiles.png), {
      message: `declared ${'x'.repeat(100)}, expected image/png: send type=image/png`,
    })
  })
})

describe('an extension that is not accepted', () => {
  for (const filename of [
    'a',
    'a.',
    'a.svg',
    'a.html',
    'a.png.exe',
    'a.png.',
    'dir.png/a',
    'a.exe',
  ])
    test(filename, async () => {
      await assert.rejects(examine(filename, 'image/png', sampleFiles.png, BY_DEFAULT), {
        code: 'UNSUPPORTED_FILE_TYPE',
      })
    })

  test('may be one that a shorter list leaves out', async () => {
    const accepted = fileTypes(['png', 'pdf'])

    await examine('a.pdf', 'application/pdf', sampleFiles.pdf, accepted)
    await assert.rejects(examine('a.gif', 'image/gif', sampleFiles.gif, accepted), {
      code: 'UNSUPPORTED_FILE_TYPE',
      message: 'Files with the extension .gif are not accepted. Accepted are .png, .pdf.',
    })
  })
})

describe('only the first bytes count', () => {
  for (const name of NAMES.filter((name) => !['mp3', ...TEXTS, ...ARCHIVES].includes(name)))
    test(`a ${name} that is cut short is accepted`, async () => {
      await examine(`a.${name}`, mediaType(name), sampleFiles[name].subarray(0, 12))
    })

  test('a PDF whose header is not at the first byte is refused', async () => {
    const late = Buffer.concat([Buffer.from('\n'), sampleFiles.pdf])

    await assert.rejects(examine('a.pdf', 'application/pdf', late), { code: 'FILE_TYPE_MISMATCH' })
  })

  test('an empty file is refused as empty', async () => {
    await assert.rejects(examine('a.png', 'image/png', Buffer.alloc(0)), { code: 'EMPTY_FILE' })
  })
})

describe('plain text', () => {
  for (const [what, content] of [
    ['NUL', Buffer.from('a\0b')],
    ['broken UTF-8', Buffer.from([0x61, 0xff])],
    ['a truncated character', Buffer.from('ä').subarray(0, 1)],
  ] as const)
    test(`has no ${what}`, async () => {
      await assert.rejects(examine('a.txt', 'text/plain', content), { code: 'FILE_TYPE_MISMATCH' })
    })

  for (const words of ['ID3 tags explained', 'The ftyp box', 'GIF89a', 'RIFF and WEBP'])
    test(`may begin like another type: ${JSON.stringify(words)}`, async () => {
      const { type } = await examine('a.txt', 'text/plain', Buffer.from(`${words}, in words\n`))

      assert.equal(type.name, 'txt')
    })

  test('does not include a PDF, even one that consists of text alone', async () => {
    const content = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\n')

    await assert.rejects(examine('a.txt', 'text/plain', content), { code: 'FILE_TYPE_MISMATCH' })
  })

  test('that the disk fails to read is an error, not a mismatch', async () => {
    const broken = { sizeBytes: 100, read: () => Promise.reject(new Error('EIO')) }
    const head = bytesOf(Buffer.from('text'))
    const bytes = {
      sizeBytes: 100,
      read: (start: number, length: number) => (length > 64 ? broken : head).read(start, length),
    }

    await assert.rejects(
      requireFileType({ filename: 'a.txt', declaredType: 'text/plain', bytes }, FILE_TYPES),
      { message: 'EIO' },
    )
  })

  test('may have a character that spans two reads', async () => {
    await examine('a.txt', 'text/plain', Buffer.from(`x${'ä'.repeat(70_000)}`))
  })
})

describe('types that only a setting adds are checked by content too', () => {
  const accepted = async (name: FileTypeName, content: string | Buffer) => {
    try {
      return (await examine(`a.${name}`, mediaType(name), Buffer.from(content))).type.name === name
    } catch (error) {
      assert.ok(error instanceof Problem, String(error))
      return false
    }
  }

  test('an SVG has an svg root element, unlike a page that contains one', async () => {
    const drawing = '<svg xmlns="http://www.w3.org/2000/svg"/>'

    for (const prolog of [
      '',
      '\uFEFF',
      '<?xml version="1.0"?>\n<!-- a --><!-- <b> -->\n<!DOCTYPE svg>',
      `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" 'http://x/?a>b' [
        <!-- it's > ]> --><!ENTITY ns_svg "http://www.w3.org/2000/svg">
        <!ENTITY gt ']>'><?note ]> ?>
      ] >\n`,
    ])
      assert.equal(await accepted('svg', prolog + drawing), true, prolog)
    for (const other of [
      `<html>${drawing}</html>`,
      'words',
      '<svgx/>',
      '<!-- <svg/>',
      `<!DOCTYPE svg [ <!ENTITY a "> ${drawing}`,
      `<!DOCTYPE svg [ <!ENTITY a "b"> ${drawing}`,
      `<!DOCTYPE svg [ <!ENTITY a "b"> ]><html>${drawing}</html>`,
      `${drawing}\0`,
    ])
      assert.equal(await accepted('svg', other), false, other)
    assert.equal(await accepted('svg', '<!---->'.repeat(10_000)), false)
    assert.equal(await accepted('svg', `<!DOCTYPE svg [${'<!---->'.repeat(10_000)}`), false)
  })

  test('JSON begins with a value', async () => {
    for (const value of ['{}', ' [1]', '"a"', '-1', 'null', '\uFEFF{}'])
      assert.equal(await accepted('json', value), true, value)
    for (const other of ['words', '<a/>', ' ', '{\0}'])
      assert.equal(await accepted('json', other), false, other)
  })

  test('a Word document has its parts, a complete directory and no macros', async () => {
    const { docx } = sampleFiles
    const macros = Buffer.from(
      docx.toString('latin1').replaceAll('word/numberings.xml', 'word/vbaProject.bin'),
      'latin1',
    )

    assert.equal(
      await accepted(
        'docx',
        Buffer.concat([docx.subarray(0, -2), Buffer.from('\x03\0abc', 'latin1')]),
      ),
      true,
    )
    for (const broken of [docx.subarray(0, 60), docx.subarray(0, -5), macros])
      assert.equal(await accepted('docx', broken), false)
  })
})

describe('names', () => {
  test('the extension is that of the last part', () => {
    assert.equal(extensionOf('a.b/c.PNG'), '.png')
    assert.equal(extensionOf('C:\\x.y\\c'), '')
    assert.equal(extensionOf('.png'), '.png')
  })
})

test('the check fails with nothing but a problem, whatever the content', {
  tags: ['property'],
}, async () => {
  await check(
    asyncProperty(constantFrom(...NAMES), uint8Array({ maxLength: 300 }), async (name, noise) => {
      const content = Buffer.concat([sampleFiles[name].subarray(0, 12), noise])
      try {
        await examine(`a.${name}`, mediaType(name), content)
      } catch (error) {
        assert.ok(error instanceof Problem, String(error))
      }
    }),
    { numRuns: propertyRuns(1000) },
  )
})
