import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { Problem } from '../problems.ts'
import { DEFAULT_MINIMUM_SPEED, guardSpeed } from './upload-body.ts'

type Client = { bytes: number; seconds: number; diskSeconds?: number }

/** A guard whose clock and timer the test moves together. */
function startGuard(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'] })
  const guard = guardSpeed(DEFAULT_MINIMUM_SPEED, () => Date.now())
  let cutAt: number | undefined
  guard.tooSlow.catch(() => {
    cutAt ??= Date.now() / 1000
  })
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      t.mock.timers.tick(1000)
      await undefined
    }
  }
  return { guard, pass, cutAt: () => cutAt }
}

/** A client that sends `bytes` every `seconds`, while our disk takes `diskSeconds` for each. */
async function drive(t: TestContext, client: Client): Promise<string> {
  const { guard, pass, cutAt } = startGuard(t)
  while (Date.now() < 600_000) {
    guard.waiting()
    await pass(client.seconds)
    if (cutAt() !== undefined) return `cut off after ${cutAt()} s`
    guard.received(client.bytes)
    await pass(client.diskSeconds ?? 0)
  }
  return 'left alone'
}

describe('a client that sends for ten minutes', () => {
  for (const [what, client, expected] of [
    ['one byte a second', { bytes: 1, seconds: 1 }, 'cut off after 21 s'],
    ['a kilobyte now and then', { bytes: 1024, seconds: 19 }, 'cut off after 22 s'],
    ['bursts with pauses of a minute', { bytes: 64_000, seconds: 60 }, 'cut off after 20 s'],
    ['bursts with pauses of 15 s', { bytes: 64_000, seconds: 15 }, 'left alone'],
    ['200 KB a second', { bytes: 200_000, seconds: 1 }, 'left alone'],
    ['a modem', { bytes: 1024, seconds: 1 }, 'left alone'],
    ['a steady client and a slow disk', { bytes: 600, seconds: 1, diskSeconds: 30 }, 'left alone'],
  ] as const)
    test(`is ${expected}: ${what}`, async (t) => assert.equal(await drive(t, client), expected))
})

test('a client that stops is cut off after one window, however fast it was', async (t) => {
  const { guard, pass, cutAt } = startGuard(t)
  await pass(7)
  guard.received(10_000_000)
  guard.waiting()

  await pass(60)

  assert.equal(cutAt(), 27)
  assert.throws(() => guard.received(10_000_000), Problem)
})
