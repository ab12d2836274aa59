import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assert as check, property, string } from 'fast-check'
import { propertyRuns } from '../../testing/property-runs.ts'
import { Problem } from '../problems.ts'
import { multipartBoundary, readPartHeader } from './multipart.ts'

const MALFORMED = { code: 'MALFORMED_UPLOAD', status: 400 }

describe('the boundary', () => {
  for (const [header, boundary] of [
    ['multipart/form-data; boundary=abc', 'abc'],
    ['multipart/form-data;boundary="a b;c"', 'a b;c'],
    ['Multipart/Form-Data; charset=utf-8; Boundary=abc;', 'abc'],
  ] as const)
    test(`of ${header} is ${boundary}`, () => assert.equal(multipartBoundary(header), boundary))

  for (const header of [
    undefined,
    '',
    'application/json',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""',
    'multipart/form-data; boundary',
    'multipart/form-data; boundary=a; boundary=b',
    'multipart/form-data; boundary="abc',
    'multipart/form-data; boundary=ä',
    `multipart/form-data; boundary=${'x'.repeat(71)}`,
    'multipart/mixed; boundary=abc',
    'multipart/form-dataX; boundary=abc',
  ])
    test(`of ${header?.slice(0, 60)} is refused`, () =>
      assert.throws(() => multipartBoundary(header), MALFORMED))
})

describe('the header of a part', () => {
  for (const [text, expected] of [
    ['name="file"; filename="a.png"', 'a.png'],
    ['name=file; filename=a.png', 'a.png'],
    ['filename="a.png"; name="file"', 'a.png'],
    ['name="file"; filename="C:\\dir\\a.png"', 'C:\\dir\\a.png'],
    ['name="file"; filename="a\\"b.png"', 'a"b.png'],
    ['name="file"; filename="a%22b.png"', 'a"b.png'],
    ['name="file"; filename="a;b=c.png"', 'a;b=c.png'],
    ['name="file"; filename="日本.png"', '日本.png'],
    [`name="file"; filename*=UTF-8''%E6%97%A5.png`, '日.png'],
    [`name="file"; filename="a.png"; filename*=UTF-8''b.png`, 'b.png'],
    [`name=file; filename="=?utf-8?B?w7wucG5n?="; filename*=utf-8''%C3%BC.png`, 'ü.png'],
    [`name="file"; filename="a.png"; filename*=ISO-8859-1''%FC.png`, 'a.png'],
    [`name="file"; filename="100%.png"; filename*=UTF-8''100%.png`, '100%.png'],
    ['name="file"; filename=""', ''],
    ['name="file"', undefined],
  ] as const)
    test(`${text} names ${expected}`, () => {
      const header = readPartHeader(`Content-Disposition: form-data; ${text}`)

      assert.equal(header.name, 'file')
      assert.equal(header.filename, expected)
    })

  test('keeps the declared type as it was written', () => {
    const { declaredType } = readPartHeader(
      'content-type:  Image/PNG; x=1 \r\nContent-Disposition: form-data; name="file"',
    )

    assert.equal(declaredType, 'Image/PNG; x=1')
  })

  for (const text of [
    '',
    'Content-Type: image/png',
    'Content-Disposition: attachment; name="file"',
    'Content-Disposition: form-data; name="file',
    'Content-Disposition: form-data; name="a"; name="b"',
    'Content-Disposition: form-data; name="file"\r\nContent-Disposition: form-data; name="x"',
    'Content-Disposition: form-data; name="file"\r\n folded',
    'Content-Disposition: form-data; name="file"\r\nno colon',
    'Content-Disposition: form-data; name="file"; filename="a\0.png"',
    'Content-Disposition: form-data; name="file"; filename="a\n.png"',
    'Content-Disposition: form-data; name="file"; filename*=UTF-8\'\'%ff',
  ])
    test(`${JSON.stringify(text.slice(-50))} is refused`, () =>
      assert.throws(() => readPartHeader(text), MALFORMED))

  for (const [name, line] of [
    ['a line feed after spaces', `X:${' '.repeat(2000)}\n`],
    ['spaces inside a value', `X: a${' '.repeat(8000)}b`],
  ] as const)
    test(`of 8 KB is read quickly, even with ${name}`, () => {
      const before = process.cpuUsage()

      try {
        readPartHeader(`Content-Disposition: form-data; name="file"\r\n${line}`)
      } catch (error) {
        assert.ok(error instanceof Problem)
      }

      assert.ok(process.cpuUsage(before).user < 100_000)
    })

  test('fails with nothing but a problem, whatever it contains', { tags: ['property'] }, () => {
    check(
      property(string({ unit: 'binary' }), (text) => {
        try {
          readPartHeader(`Content-Disposition: form-data; ${text}`)
        } catch (error) {
          assert.ok(error instanceof Problem)
        }
      }),
      { numRuns: propertyRuns(1000) },
    )
  })
})
