import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { DEFAULT_MINIMUM_SPEED, guardSpeed } from './upload-body.ts'

/** A client that sends `bytes` every `seconds`, while our disk takes `diskSeconds` for each. */
function drive(t: TestContext, client: { bytes: number; seconds: number; diskSeconds?: number }) {
  let [nowMs, cut] = [0, false]
  const request = {
    destroy: () => {
      cut = true
      return request as never
    },
  }
  const guard = guardSpeed(request, DEFAULT_MINIMUM_SPEED, () => nowMs)
  t.after(() => guard.stop())
  for (let elapsed = 0; elapsed < 600 && !cut; elapsed += client.seconds) {
    guard.waiting()
    nowMs += client.seconds * 1000
    guard.received(client.bytes)
    nowMs += (client.diskSeconds ?? 0) * 1000
  }
  return cut ? 'cut off' : 'left alone'
}

describe('a client that sends for ten minutes', () => {
  for (const [what, client, expected] of [
    ['one byte a second', { bytes: 1, seconds: 1 }, 'cut off'],
    ['a kilobyte now and then', { bytes: 1024, seconds: 19 }, 'cut off'],
    ['200 KB a second', { bytes: 200_000, seconds: 1 }, 'left alone'],
    ['a modem', { bytes: 1024, seconds: 1 }, 'left alone'],
    ['bursts with long pauses', { bytes: 64_000, seconds: 60 }, 'left alone'],
    ['a steady client and a slow disk', { bytes: 600, seconds: 1, diskSeconds: 30 }, 'left alone'],
  ] as const)
    test(`is ${expected}: ${what}`, (t) => assert.equal(drive(t, client), expected))
})
