import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkLimits, checkStep, decimalsOf, formatAmount, readCurrency } from './currencies.ts'

describe('readCurrency', () => {
  test('accepts upper and lower case', () => {
    assert.equal(readCurrency('USD', 'currency'), 'usd')
  })

  test('refuses an unknown currency', () => {
    for (const given of ['xyz', 'us', 'u5d', 'üsd'])
      assert.throws(() => readCurrency(given, 'currency'), { status: 400 })
  })
})

describe('decimalsOf', () => {
  for (const [currency, decimals] of Object.entries({ jpy: 0, usd: 2, kwd: 3, isk: 2 }))
    test(`${currency} has ${decimals}`, () => assert.equal(decimalsOf(currency), decimals))
})

describe('checkStep', () => {
  for (const [amount, currency] of [
    [1001, 'kwd'],
    [150, 'isk'],
  ] as const)
    test(`refuses ${amount} ${currency}`, () => {
      assert.throws(() => checkStep(amount, currency, 'amount'), { status: 400 })
    })

  for (const [amount, currency] of [
    [1010, 'kwd'],
    [200, 'isk'],
    [1, 'usd'],
    [1, 'jpy'],
  ] as const)
    test(`accepts ${amount} ${currency}`, () => checkStep(amount, currency, 'amount'))
})

describe('checkLimits', () => {
  for (const [least, currency] of [
    [50, 'usd'],
    [30, 'gbp'],
    [50, 'jpy'],
    [500, 'kwd'],
  ] as const)
    test(`requires at least ${least} ${currency}`, () => {
      checkLimits(least, currency)
      assert.throws(() => checkLimits(least - 1, currency), { code: 'AMOUNT_TOO_SMALL' })
    })

  test('allows at most eight digits, and an amount of zero', () => {
    checkLimits(0, 'usd')
    checkLimits(99_999_999, 'usd')
    assert.throws(() => checkLimits(100_000_000, 'usd'), { code: 'AMOUNT_TOO_LARGE' })
  })
})

describe('formatAmount', () => {
  for (const [amount, currency, text] of [
    [1, 'usd', '$0.01'],
    [1050, 'usd', '$10.50'],
    [1050, 'jpy', '¥1,050'],
    [1050, 'kwd', 'KWD 1.050'],
    [Number.MAX_SAFE_INTEGER, 'usd', '$90,071,992,547,409.91'],
  ] as const)
    test(`${amount} ${currency} is ${text}`, () => {
      assert.equal(formatAmount(amount, currency).replace('\u00a0', ' '), text)
    })
})
