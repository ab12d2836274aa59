import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assert as check, property, string } from 'fast-check'
import { propertyRuns } from '../../testing/property-runs.ts'
import { contentDisposition } from './send-file.ts'

describe('Content-Disposition', () => {
  for (const [name, expected] of [
    ['a.png', `filename="a.png"; filename*=UTF-8''a.png`],
    ['Größe 1.pdf', `filename="Gr__e 1.pdf"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%201.pdf`],
    ['a"b.png', `filename="a_b.png"; filename*=UTF-8''a%22b.png`],
    [
      'a\r\nSet-Cookie: x=1',
      `filename="aSet-Cookie: x=1"; filename*=UTF-8''aSet-Cookie%3A%20x%3D1`,
    ],
    ['../../etc/passwd', `filename="passwd"; filename*=UTF-8''passwd`],
    ['C:\\dir\\x.png', `filename="x.png"; filename*=UTF-8''x.png`],
    ['gpj\u202e.exe', `filename="gpj.exe"; filename*=UTF-8''gpj.exe`],
    [
      'می\u200cروم.pdf',
      `filename="______.pdf"; filename*=UTF-8''%D9%85%DB%8C%E2%80%8C%D8%B1%D9%88%D9%85.pdf`,
    ],
    ["it's (1)*.png", `filename="it's (1)*.png"; filename*=UTF-8''it%27s%20%281%29%2A.png`],
    ['..', `filename="file"; filename*=UTF-8''file`],
    ['', `filename="file"; filename*=UTF-8''file`],
  ] as const)
    test(`of ${JSON.stringify(name)}`, () => {
      assert.equal(contentDisposition('attachment', name), `attachment; ${expected}`)
    })

  test('keeps the extension of a very long name', () => {
    assert.match(
      contentDisposition('inline', `${'x'.repeat(300)}.png`),
      /^inline; filename="x{146}\.png"; filename\*=UTF-8''x{146}\.png$/,
    )
  })

  test('is one line of ASCII with balanced quotes, whatever the name', {
    tags: ['property'],
  }, () => {
    check(
      property(string({ unit: 'binary', maxLength: 400 }), (name) => {
        const header = contentDisposition('attachment', name)
        assert.match(header, /^attachment; filename="[ !#-[\]-~]+"; filename\*=UTF-8''[\w.!~%-]+$/)
      }),
      { numRuns: propertyRuns(1000) },
    )
  })
})
