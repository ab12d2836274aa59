import assert from 'node:assert/strict'
import { test } from 'node:test'
import { middleTurn, quotient } from './turns.ts'

/** Turns with these ratios; the last one repeats. */
function sidesOf(ratios: number[], bar?: number) {
  const order: string[] = []
  let turn = 0
  const sides = {
    ours: async () => {
      order.push('ours')
      return 100 * (ratios[Math.min(turn, ratios.length - 1)] ?? 0)
    },
    baseline: async () => {
      order.push('baseline')
      return 100
    },
    ratio: (ours: number, baseline: number) => {
      turn += 1
      return quotient(ours, baseline)
    },
    bar,
  }
  return { sides, order, turns: () => turn }
}

test('the median turn counts', async () => {
  const { sides } = sidesOf([0.9, 0.2, 0.8])
  assert.equal((await middleTurn(3, sides)).ratio, 0.8)
})

test('the side that goes first changes with every turn', async () => {
  const { sides, order } = sidesOf([1])
  await middleTurn(3, sides)
  assert.deepEqual(order, ['ours', 'baseline', 'baseline', 'ours', 'ours', 'baseline'])
})

test('turns that agree about the bar decide it', async () => {
  for (const ratios of [
    [0.9, 0.9, 0.8],
    [0.7, 0.6, 0.7],
  ]) {
    const { sides, turns } = sidesOf(ratios, 0.75)
    await middleTurn(3, sides)
    assert.equal(turns(), 3)
  }
})

test('turns on both sides of the bar are followed by more, whether they met it or not', async () => {
  const met = sidesOf([0.8, 0.8, 0.7, 0.6], 0.75)
  assert.equal((await middleTurn(3, met.sides)).ratio, 0.6)
  assert.equal(met.turns(), 9)
  const missed = sidesOf([0.7, 0.8, 0.7, 0.8], 0.75)
  assert.equal((await middleTurn(3, missed.sides)).ratio, 0.8)
  assert.equal(missed.turns(), 9)
  const decided = sidesOf([0.8, 0.8, 0.7, 0.8], 0.75)
  assert.equal((await middleTurn(3, decided.sides)).ratio, 0.8)
  assert.equal(decided.turns(), 5)
})

test('turns without a bar are as many as asked for', async () => {
  const { sides, turns } = sidesOf([0.1, 0.9, 0.5])
  await middleTurn(3, sides)
  assert.equal(turns(), 3)
})
