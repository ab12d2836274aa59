import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { takeBlock } from './blocks.ts'
import { openFileDigest } from './digest.ts'

test('the thread does not end under a file whose first bytes are long in coming', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })

  const slow = openFileDigest()
  t.mock.timers.tick(60_000)
  const block = await takeBlock()
  await slow.update(block, block.bytes.write('x'))

  assert.equal(await slow.finish(), hash('sha256', 'x'))
})
