import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startRounds } from './rounds.ts'

const SOON_MS = 50
const PAUSE_MS = 1_000

/** Rounds on a simulated timer. A round ends when the test says so. */
function started(t: TestContext, gapMs = 0) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const now = t.mock.method(performance, 'now', () => at)
  let at = 0
  const pass = (ms: number) => {
    at += ms
    t.mock.timers.tick(ms)
  }
  const open: PromiseWithResolvers<number>[] = []
  const round = () => {
    const ending = Promise.withResolvers<number>()
    open.push(ending)
    return ending.promise
  }
  const end = async () => {
    open.at(-1)?.resolve(PAUSE_MS)
    await new Promise(setImmediate)
  }
  t.after(() => now.mock.restore())
  return {
    rounds: startRounds({ round, soonMs: SOON_MS, gapMs }),
    pass,
    end,
    count: () => open.length,
  }
}

test('the first round starts soon, the next after the pause that it asked for', async (t) => {
  const { pass, end, count } = started(t)
  pass(SOON_MS)
  assert.equal(count(), 1)
  await end()
  pass(PAUSE_MS - 1)
  assert.equal(count(), 1)
  pass(1)
  assert.equal(count(), 2)
})

test('several calls of wake share a round, which does not wait for the pause', async (t) => {
  const { rounds, pass, end, count } = started(t)
  pass(SOON_MS)
  await end()
  rounds.wake()
  pass(SOON_MS / 2)
  rounds.wake()
  pass(SOON_MS / 2)
  assert.equal(count(), 2)
  await end()
  pass(PAUSE_MS - 1)
  assert.equal(count(), 2)
})

test('what comes during a round gets a round of its own as soon as that one has ended', async (t) => {
  const { rounds, pass, end, count } = started(t)
  pass(SOON_MS)
  rounds.wake()
  pass(PAUSE_MS)
  assert.equal(count(), 1, 'never two at once')
  await end()
  pass(SOON_MS)
  assert.equal(count(), 2)
})

test('rounds that are woken keep their distance', async (t) => {
  const { rounds, pass, end, count } = started(t, 200)
  pass(SOON_MS)
  await end()
  rounds.wake()
  pass(199)
  assert.equal(count(), 1)
  pass(1)
  assert.equal(count(), 2)
})

test('stop waits for the round in progress and starts no other', async (t) => {
  const { rounds, pass, end, count } = started(t)
  pass(SOON_MS)
  let isStopped = false
  const stopped = rounds.stop().then(() => {
    isStopped = true
  })
  await new Promise(setImmediate)
  assert.equal(isStopped, false)
  await end()
  await stopped
  rounds.wake()
  pass(PAUSE_MS)
  assert.equal(count(), 1)
})
