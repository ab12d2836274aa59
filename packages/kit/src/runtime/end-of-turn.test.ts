import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endOfTurn } from './end-of-turn.ts'

test('all that wait in one turn go on together, in the order they came', async () => {
  const order: string[] = []
  const wait = async (name: string) => {
    await endOfTurn()
    order.push(name)
  }

  const both = [wait('first'), wait('second')]
  assert.equal(endOfTurn(), endOfTurn())
  assert.deepEqual(order, [])
  await Promise.all(both)

  assert.deepEqual(order, ['first', 'second'])
})

test('the next turn is waited for anew', async () => {
  const turn = endOfTurn()
  await turn

  assert.notEqual(endOfTurn(), turn)
  await endOfTurn()
})
