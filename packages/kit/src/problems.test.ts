import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineProblem } from './problems.ts'

test('a defined problem recognises its own errors and no others', () => {
  const taken = defineProblem('NAME_TAKEN', 409, 'The name is taken.')
  const gone = defineProblem('NAME_GONE', 410, 'The name is gone.')

  assert.equal(taken.is(taken({ detail: 'Ada is taken.' })), true)
  assert.equal(taken.is(gone()), false)
  assert.equal(taken.is(Object.assign(new Error(), { code: 'NAME_TAKEN' })), false)
  assert.equal(taken.is(undefined), false)
  assert.equal(taken.code, 'NAME_TAKEN')
})
