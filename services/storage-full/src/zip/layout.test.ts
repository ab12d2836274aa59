import assert from 'node:assert/strict'
import { test } from 'node:test'
import { propertyRuns } from '@plinth/kit/testing'
import fc from 'fast-check'
import {
  type ArchiveEntry,
  descriptor,
  directoryHeader,
  endOfArchive,
  layOut,
  localHeader,
} from './layout.ts'
import { entryNames } from './names.ts'

const LARGE = 0xffffffff

const sizes = fc.oneof(
  fc.nat(100_000),
  fc.constantFrom(0, 1, LARGE - 1, LARGE, LARGE + 1, 2 ** 32, 2 ** 42),
)
const entries: fc.Arbitrary<ArchiveEntry[]> = fc.array(
  fc.record({
    name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
    sizeBytes: sizes,
    crc32: fc.option(fc.nat(LARGE), { nil: undefined }),
    modifiedAt: fc.date({ min: new Date(0), max: new Date('2200-01-01'), noInvalidDate: true }),
  }),
  { maxLength: 40 },
)

test('an archive is exactly as long as predicted, and its directory points to its headers', {
  tags: ['property'],
}, () => {
  fc.assert(
    fc.property(entries, (given) => {
      const layout = layOut(given)

      let position = 0
      for (const { entry, offset } of layout.placed) {
        assert.equal(offset, position)
        position += localHeader(entry).length + entry.sizeBytes
        if (entry.crc32 === undefined) position += descriptor(entry, 1).length
      }
      assert.equal(layout.directoryOffset, position)
      for (const placed of layout.placed) {
        const header = directoryHeader(placed, 1)
        assert.deepEqual(valuesIn(header), [placed.entry.sizeBytes, placed.offset])
        position += header.length
      }
      const end = endOfArchive(layout)
      assert.equal(position + end.length, layout.totalBytes)
      const isLarge = layout.directoryOffset >= LARGE
      assert.equal(end.length, isLarge ? 98 : 22)
      const count = given.length
      const { directoryOffset, directoryBytes } = layout
      if (isLarge) {
        const large = [24, 32, 40, 48, 64].map((at) => Number(end.readBigUInt64LE(at)))
        assert.deepEqual(large, [count, count, directoryBytes, directoryOffset, position])
      }
      const last = end.subarray(-22)
      assert.deepEqual(
        [last.readUInt16LE(8), last.readUInt16LE(10), last.readUInt32LE(12), last.readUInt32LE(16)],
        [count, count, directoryBytes, Math.min(directoryOffset, LARGE)],
      )
    }),
    { numRuns: propertyRuns(200) },
  )
})

/** The size and the offset that a reader finds in a header of the directory. */
function valuesIn(header: Buffer): number[] {
  const start = 46 + header.readUInt16LE(28)
  const extra = header.subarray(start, start + header.readUInt16LE(30))
  let large: Buffer = Buffer.alloc(0)
  for (let at = 0; at < extra.length; at += 4 + extra.readUInt16LE(at + 2))
    if (extra.readUInt16LE(at) === 1)
      large = extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2))
  const values = [header.readUInt32LE(24), header.readUInt32LE(20), header.readUInt32LE(42)]
  let next = 0
  const [size = 0, compressed, offset = 0] = values.map((value) => {
    if (value !== LARGE) return value
    next += 8
    return Number(large.readBigUInt64LE(next - 8))
  })
  assert.equal(compressed, size)
  assert.equal(next, large.length)
  return [size, offset]
}

test('every entry has a name of its own that leads nowhere else and that file systems take', {
  tags: ['property'],
}, () => {
  const hostile = fc.oneof(
    fc.array(fc.nat(0xffff), { maxLength: 20 }).map((units) => String.fromCharCode(...units)),
    fc.constantFrom(
      '..',
      '.',
      '',
      '../../etc/passwd',
      '..\\x',
      'a\u0000b',
      '/',
      'C:\\x',
      '\ud800',
      '.. ',
      'C:x.txt',
      'a.txt:b',
    ),
    fc.constantFrom('a.txt', 'A.TXT', 'a (2).txt', 'a (3).txt'),
    fc.constantFrom('x'.repeat(400), `${'ü'.repeat(300)}.txt`, `a.${'e'.repeat(400)}`),
  )
  fc.assert(
    fc.property(fc.array(hostile, { maxLength: 30 }), (names) => {
      const nameOf = entryNames()

      const given = names.map((name) => nameOf('folder/', name))

      const folded = new Set(given.map((name) => name.normalize('NFC').toLowerCase()))
      assert.equal(folded.size, names.length)
      for (const name of given) {
        const parts = name.split(/[/\\]/)
        assert.equal(parts.length, 2)
        assert.match(parts[1] ?? '', /[^.\s]/)
        assert.ok(!name.includes(':'))
        assert.ok(Buffer.byteLength(parts[1] ?? '') <= 255)
        assert.doesNotMatch(name, /\p{Cc}/u)
        assert.ok(name.isWellFormed())
      }
    }),
    { numRuns: propertyRuns(100) },
  )
})

test('ten thousand equal names are numbered in a moment', () => {
  const nameOf = entryNames()

  const names = Array.from({ length: 10_000 }, () => nameOf('', 'a.tar.gz'))

  assert.equal(names[0], 'a.tar.gz')
  assert.equal(names[9_999], 'a.tar (10000).gz')
})
