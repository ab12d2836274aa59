import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ReceivedBytes } from './blocks.ts'

function move(received: ReceivedBytes, length: number): string {
  const target = Buffer.alloc(length)
  received.moveInto(target)
  return target.toString('latin1')
}

test('whatever the pieces and the targets, the bytes come out in their order', () => {
  const pieces = fc.array(fc.string({ unit: 'binary-ascii', minLength: 1 }), { maxLength: 40 })
  fc.assert(
    fc.property(pieces, fc.infiniteStream(fc.integer({ min: 1, max: 30 })), (texts, lengths) => {
      const received = new ReceivedBytes()
      let missing = 0
      let moved = ''
      for (const text of texts) {
        received.push(Buffer.from(text, 'latin1'))
        missing += text.length
        const length = Math.min(missing, lengths.next().value)
        moved += move(received, length)
        missing -= length
      }
      assert.equal(moved + move(received, missing), texts.join(''))
    }),
  )
})

test('thousands of single bytes do not stay thousands of pieces', () => {
  const received = new ReceivedBytes()
  const pieces = Array.from({ length: 5000 }, (_, count) =>
    Buffer.allocUnsafeSlow(1).fill(65 + (count % 26)),
  )
  received.push(Buffer.from('half moved'))
  assert.equal(move(received, 5), 'half ')

  for (const piece of pieces) received.push(piece)

  assert.ok(pieces.filter(({ length }) => length > 0).length < 1024) // the others were joined
  assert.equal(move(received, 35), 'movedABCDEFGHIJKLMNOPQRSTUVWXYZABCD')
  assert.equal(move(received, 4970).slice(-3), 'FGH')
})

test('the memory of a moved piece is free at once, unless others share it', () => {
  const [alone, shared] = [Buffer.alloc(100_000, 'a'), Buffer.alloc(100_000, 'b')]
  const received = new ReceivedBytes()
  received.push(alone)
  received.push(shared.subarray(0, 10))

  assert.equal(move(received, 100_010), `${'a'.repeat(100_000)}${'b'.repeat(10)}`)
  assert.equal(alone.length, 0)
  assert.equal(shared.length, 100_000)
})
