import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Busboy } from '@fastify/busboy'
import {
  array,
  asyncProperty,
  assert as check,
  integer,
  property,
  string,
  uint8Array,
} from 'fast-check'
import { propertyRuns } from '../../testing/property-runs.ts'
import { Problem } from '../problems.ts'
import { MultipartReader } from './multipart.ts'

const BOUNDARY = 'b0undary'
const HEADER = 'Content-Disposition: form-data; name="file"; filename="a.png"'

function body(content: Uint8Array | string): Buffer {
  return Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\n${HEADER}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ])
}

/** Feeds the body in pieces, cycling through the given lengths. */
function readAll(bytes: Buffer, lengths: number[] = [bytes.length || 1]) {
  const reader = new MultipartReader(BOUNDARY)
  const [headers, contents]: [string[], Buffer[]] = [[], []]
  for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
    const end = start + (lengths[turn % lengths.length] ?? 1)
    for (const event of reader.read(bytes.subarray(start, end)))
      if (event.kind === 'header') headers.push(event.text)
      else contents.push(event.bytes)
    start = end
  }
  return { headers, content: Buffer.concat(contents), finished: reader.finished }
}

describe('a multipart body', () => {
  test('yields its header and content', () => {
    const read = readAll(body('hello'))

    assert.deepEqual(read, { headers: [HEADER], content: Buffer.from('hello'), finished: true })
  })

  for (const content of ['', '\r', '\r\n', '\r\n--', `\r\n--${BOUNDARY.slice(0, -1)}`, '\r\r\n--b'])
    test(`may contain ${JSON.stringify(content)}`, () => {
      assert.equal(readAll(body(content), [1]).content.toString(), content)
    })

  test('may have a preamble, padding after the boundary and an epilogue', () => {
    const text = `hi\r\n--${BOUNDARY} \t\r\n${HEADER}\r\n\r\nx\r\n--${BOUNDARY}--epilogue`

    assert.equal(readAll(Buffer.from(text)).content.toString(), 'x')
  })

  test('may have 4094 bytes of preamble, and no more', () => {
    const after = (bytes: number) =>
      Buffer.concat([Buffer.from(`${'x'.repeat(bytes)}\r\n`), body('hello')])

    assert.equal(readAll(after(4094)).content.toString(), 'hello')
    assert.throws(() => readAll(after(4095)), { code: 'MALFORMED_UPLOAD' })
  })

  test('may have an empty header before a long content', () => {
    const content = 'x'.repeat(10_000)
    const text = `--${BOUNDARY}\r\n\r\n\r\n${content}\r\n--${BOUNDARY}--`

    const read = readAll(Buffer.from(text))

    assert.deepEqual([read.headers, read.content.toString()], [[''], content])
  })

  for (const [what, text] of [
    ['a header without an end', `--${BOUNDARY}\r\n${'x'.repeat(100_000)}`],
    ['a header of 100 KB', `--${BOUNDARY}\r\n${'x'.repeat(100_000)}\r\n\r\n`],
    ['10,000 bytes of preamble', 'x'.repeat(10_000)],
    ['text after a boundary', `--${BOUNDARY}x\r\n${HEADER}\r\n\r\n`],
    ['bare line feeds', body('x').toString().replaceAll('\r\n', '\n')],
    ['endless padding', `--${BOUNDARY}${' '.repeat(1000)}`],
  ] as const)
    test(`is refused for ${what}`, () => {
      for (const lengths of [[1], [7], [65_536]])
        assert.throws(() => readAll(Buffer.from(text), lengths), { code: 'MALFORMED_UPLOAD' })
    })

  for (const [what, text] of [
    ['an empty body', ''],
    ['a missing closing boundary', body('x').toString().slice(0, -4)],
    ['half a header', `--${BOUNDARY}\r\nContent-Dis`],
  ] as const)
    test(`is not finished with ${what}`, () => {
      assert.equal(readAll(Buffer.from(text)).finished, false)
    })

  test('means the same however it is split into chunks', { tags: ['property'] }, () => {
    const lengths = array(integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 })
    const tricky = string({ unit: 'grapheme-ascii' }).map((text) =>
      text.replaceAll('a', '\r\n').replaceAll('b', `\r\n--${BOUNDARY.slice(0, 5)}`),
    )
    check(
      property(tricky, lengths, (content, cuts) => {
        const read = readAll(body(content), cuts)
        assert.equal(read.content.toString(), content)
        assert.ok(read.finished)
      }),
      { numRuns: propertyRuns(1000) },
    )
  })

  test('fails with nothing but a 400, whatever it contains', { tags: ['property'] }, () => {
    const anything = array(string({ unit: 'grapheme-ascii' }).map(hostile), { maxLength: 12 })
    check(
      property(anything, array(integer({ min: 1, max: 30 }), { minLength: 1 }), (pieces, cuts) => {
        try {
          readAll(Buffer.from(pieces.join('')), cuts)
        } catch (error) {
          assert.ok(error instanceof Problem && error.status === 400)
        }
      }),
      { numRuns: propertyRuns(1000) },
    )
  })

  test('is read as another parser would read it', { tags: ['property'] }, async () => {
    await check(
      asyncProperty(uint8Array({ maxLength: 2000 }), async (content) => {
        assert.deepEqual(readAll(body(content)).content, await readByBusboy(body(content)))
      }),
      { numRuns: propertyRuns(200) },
    )
  })
})

function hostile(text: string): string {
  const words = ['\r\n', '--', `--${BOUNDARY}`, `\r\n--${BOUNDARY}`, '\r\n\r\n', HEADER, '\0', ';']
  return text.replace(/[a-h]/g, (letter) => words[letter.charCodeAt(0) - 97] ?? '')
}

function readByBusboy(bytes: Buffer): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const parser = new Busboy({
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  })
  parser.on('error', reject)
  parser.on('file', (_name, stream) => {
    stream.toArray().then((chunks) => resolve(Buffer.concat(chunks)), reject)
  })
  parser.end(bytes)
  return promise
}
