import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { sealing, unsealing } from './sealed.ts'

const CHUNK = 65_536
const PASSPHRASE = 'a passphrase for the archive'

async function* inPieces(bytes: Buffer, size: number) {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

test('what is encrypted comes back whole, whatever the length and the pieces it arrives in', async () => {
  // Each costs two slow derivations of the key.
  for (const [length, piece] of [
    [0, 1],
    [CHUNK, 1000],
    [3 * CHUNK + 5, 2 * CHUNK + 3],
  ] as const) {
    const bytes = randomBytes(length)
    const sealed = sealing(PASSPHRASE)(inPieces(bytes, piece))
    const whole = Buffer.concat(await Array.fromAsync(sealed))
    const opened = unsealing(PASSPHRASE)(inPieces(whole, 50_001))
    assert.ok(bytes.equals(Buffer.concat(await Array.fromAsync(opened))), `${length} ${piece}`)
  }
})

test('an encrypted archive that was cut, or whose chunks were exchanged, is refused', async () => {
  const sealed = sealing(PASSPHRASE)(inPieces(randomBytes(3 * CHUNK), CHUNK))
  const [head, one, two, three] = await Array.fromAsync(sealed)
  const opened = async (...chunks: (Buffer | undefined)[]) => {
    const source = Readable.from(chunks.filter((chunk) => chunk !== undefined))
    return Buffer.concat(await Array.fromAsync(unsealing(PASSPHRASE)(source)))
  }

  assert.equal((await opened(head, one, two, three)).length, 3 * CHUNK)
  for (const chunks of [
    [head, one, two],
    [head, two, one, three],
    [head, one, two, three?.subarray(0, -1)],
  ])
    await assert.rejects(opened(...chunks), { reason: 'damaged' })
})
