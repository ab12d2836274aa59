import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bytesOf, minorUnitsOf, moneyText, sizeText, typedAmount, visible } from './wording.ts'

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

  test('in an unknown currency is shown as the plain number', () => {
    assert.equal(moneyText(4900, 'x'), '4900 x')
  })
})

describe('a typed amount', () => {
  for (const [text, currency, amount] of [
    ['49', 'eur', 4900],
    ['49.5', 'EUR', 4950],
    [' 49,05 ', 'eur', 4905],
    ['4900', 'jpy', 4900],
    ['4.9', 'kwd', 4900],
    ['0.005', 'eur', undefined],
    ['4900.0', 'jpy', undefined],
    ['-1', 'eur', undefined],
    ['1e3', 'eur', undefined],
    ['', 'eur', undefined],
  ] as const)
    test(`${JSON.stringify(text)} in ${currency} is ${amount}`, () => {
      assert.equal(minorUnitsOf(text, currency), amount)
    })

  test('is shown as it would be typed', () => {
    assert.equal(typedAmount(4905, 'eur'), '49.05')
    assert.equal(typedAmount(4900, 'jpy'), '4900')
  })
})

describe('a typed size', () => {
  for (const [text, bytes] of [
    ['2048', 2048],
    ['10 GB', 10_737_418_240],
    [' 1,5 kB ', 1536],
    ['3m', 3_145_728],
    ['1 byte', 1],
    ['a lot', Number.NaN],
    ['-1', Number.NaN],
    ['', Number.NaN],
  ] as const)
    test(`${JSON.stringify(text)} is ${bytes}`, () => {
      assert.equal(bytesOf(text), bytes)
    })
})

describe('a size', () => {
  for (const [bytes, text] of [
    [0, '0 bytes'],
    [1, '1 byte'],
    [1023, '1023 bytes'],
    [1536, '1.5 kB'],
  ] as const)
    test(`of ${bytes} is ${text}`, () => assert.equal(sizeText(bytes), text))
})

test('every character that changes the direction of a text is shown as an escape', () => {
  const controls = [0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e]
  const isolates = [0x2066, 0x2067, 0x2068, 0x2069]

  for (const code of [...controls, ...isolates])
    assert.equal(visible(`a${String.fromCharCode(code)}b`), `a\\u${code.toString(16)}b`)
  assert.equal(visible('שלום.pdf'), 'שלום.pdf')
})
