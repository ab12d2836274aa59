import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import type { Family } from '@plinth/kit/metrics'
import { keepActivity } from './activity.ts'

/** An activity over fabricated counters, with a clock that the test advances. */
function activityOf(t: TestContext) {
  const values = { signIns: 0, refused: 0, stored: 0 }
  let now = 0
  const family = (name: string, labels: Record<string, string>, value: number): Family => ({
    name,
    help: '',
    type: 'counter',
    samples: [{ labels, value }],
  })
  const read = async () => [
    family('plinth_logins_total', { method: 'password', result: 'accepted' }, values.signIns),
    family('plinth_logins_total', { method: 'password', result: 'refused' }, 7),
    family('plinth_webhooks_total', { result: 'failed' }, values.refused),
    family('plinth_event_attempts_total', { result: 'success' }, 9),
    family('plinth_event_attempts_total', { result: 'unreachable' }, 2),
    family('plinth_stored_bytes', {}, values.stored),
  ]
  const activity = keepActivity(read, () => new Date(now), createLogger('test', 'silent'))
  t.after(activity.stop)
  const pass = (seconds: number) => {
    now += seconds * 1000
  }
  return { activity, values, pass }
}

test('each interval has what happened in it, and the last has not ended', async (t) => {
  const { activity, values, pass } = activityOf(t)
  Object.assign(values, { signIns: 3, stored: 100 })
  pass(300)
  await activity.record()
  Object.assign(values, { signIns: 5, refused: 1, stored: 50 })
  pass(10)

  const intervals = await activity.intervals()

  assert.deepEqual(
    intervals.map(({ at, signIns, failedWebhooks, storedBytes }) => [
      at,
      signIns,
      failedWebhooks,
      storedBytes,
    ]),
    [
      [300_000, 3, 2, 100],
      [310_000, 2, 1, 50],
    ],
  )
})

test('a day is kept and no more', async (t) => {
  const { activity, pass } = activityOf(t)
  for (let index = 0; index < 300; index += 1) {
    pass(300)
    await activity.record()
  }

  assert.equal((await activity.intervals()).length, 289)
})
