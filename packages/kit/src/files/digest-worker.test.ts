import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { openFileDigest } from './digest-worker.ts'

test('files hashed at the same time get each its own digest', async () => {
  const [first, second] = [openFileDigest(), openFileDigest()]

  await Promise.all([
    first.update([Buffer.alloc(100_000, 'a')]),
    second.update([Buffer.alloc(100_000, 'b')]),
  ])
  await first.update([Buffer.from('end')])

  assert.deepEqual(await Promise.all([first.finish(), second.finish()]), [
    hash('sha256', `${'a'.repeat(100_000)}end`),
    hash('sha256', 'b'.repeat(100_000)),
  ])
})

test('bytes that share their memory with others leave these unharmed', async () => {
  const whole = Buffer.alloc(100_000, 'x')
  const digest = openFileDigest()

  await digest.update([whole.subarray(0, 10)])

  assert.equal(await digest.finish(), hash('sha256', 'x'.repeat(10)))
  assert.equal(whole.length, 100_000)
})
