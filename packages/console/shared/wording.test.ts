import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { moneyText } from './wording.ts'

describe('an amount in minor units', () => {
  for (const [currency, amount] of [
    ['eur', '49.00'],
    ['jpy', '4,900'],
    ['kwd', '4.900'],
    ['isk', '49.00'],
    ['huf', '49.00'],
  ] as const)
    test(`of 4900 ${currency} is ${amount}`, () => {
      const shown = moneyText(4900, currency).replaceAll(/[^\d.,]/g, '')

      assert.equal(shown, amount)
    })

  test('in no currency at all is the number', () => {
    assert.equal(moneyText(4900, 'x'), '4900 x')
  })
})
