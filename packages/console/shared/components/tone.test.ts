import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { resultTone } from './tone.ts'

describe('the result of a security event', () => {
  for (const result of ['SUCCESS', 'UNCHANGED'])
    test(`${result} looks good`, () => assert.equal(resultTone(result), 'good'))

  for (const result of ['REFUSED', 'THROTTLED', 'something new'])
    test(`${result} does not`, () => assert.equal(resultTone(result), 'bad'))
})
