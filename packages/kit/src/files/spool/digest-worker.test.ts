import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { giveBack, takeBlock } from './blocks.ts'
import { type FileDigest, openFileDigest } from './digest.ts'

async function update(digest: FileDigest, text: string): Promise<void> {
  const block = await takeBlock()
  await digest.update(block, block.bytes.write(text))
  giveBack(block)
}

test('files hashed at the same time get each its own digest', async () => {
  const [first, second] = [openFileDigest(), openFileDigest()]

  await Promise.all([update(first, 'a'.repeat(100_000)), update(second, 'b'.repeat(100_000))])
  await update(first, 'end')

  assert.deepEqual(await Promise.all([first.finish(), second.finish()]), [
    hash('sha256', `${'a'.repeat(100_000)}end`),
    hash('sha256', 'b'.repeat(100_000)),
  ])
})

test('what a block held before is not hashed', async () => {
  const digest = openFileDigest()

  for (const text of ['long before', 'short']) await update(digest, text)

  assert.equal(await digest.finish(), hash('sha256', 'long beforeshort'))
})
