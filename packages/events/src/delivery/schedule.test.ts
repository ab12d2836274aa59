import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judge } from './schedule.ts'

const HOUR = 3600
const NOW = new Date('2026-01-01T00:00:00Z')
const SENT = { status: 500, error: null, reply: '', retryAfter: undefined, instruction: undefined }

test('each pause is spread by exactly 20 % in both directions', (t) => {
  const nominal = [5, 300, 1800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
  const pauses = (random: number) => {
    t.mock.method(Math, 'random', () => random)
    return nominal.map((_, index) => {
      const { verdict } = judge(SENT, index + 1, NOW)
      assert.ok(verdict instanceof Date)
      return (verdict.getTime() - NOW.getTime()) / 1000
    })
  }

  for (const [random, factor] of [
    [0, 0.8],
    [0.5, 1],
    [1, 1.2],
  ] as const)
    assert.deepEqual(
      pauses(random),
      nominal.map((pause) => Math.round(pause * factor)),
    )
})
