import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { openFileDigest } from './digest-worker.ts'

test('the thread does not end under a file whose first bytes are long in coming', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })

  const slow = openFileDigest()
  t.mock.timers.tick(60_000)
  await slow.update([Buffer.from('x')])

  assert.equal(await slow.finish(), hash('sha256', 'x'))
})
