import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  accountDetails,
  behaviourOf,
  behaviourOfAccount,
  behaviourOfCard,
  cardDetails,
  TEST_ACCOUNTS,
  TEST_CARDS,
} from './payment-methods.ts'

describe('a test card', () => {
  for (const number of Object.keys(TEST_CARDS))
    test(`${number} is a card number, and its last digits identify its behaviour`, () => {
      assert.notEqual(behaviourOfCard(number).title, 'Not a card number')
      assert.equal(behaviourOf(cardDetails(number, '12/60')), TEST_CARDS[number])
    })

  const unknown = { '4111111111111111': 'test_mode_live_card', '4242424242424241': undefined }
  for (const [number, decline] of Object.entries(unknown))
    test(`${number} is none, and declined`, () => {
      assert.equal(behaviourOfCard(number).error?.decline_code, decline)
    })

  test('of nonsense is an incorrect number', () => {
    for (const number of ['', 'abc', '0'.repeat(30)])
      assert.equal(behaviourOfCard(number).error?.code, 'incorrect_number')
  })

  test('past its date has expired', () => {
    assert.equal(behaviourOfCard('4242424242424242', true).error?.code, 'expired_card')
  })
})

describe('a test account', () => {
  for (const number of Object.keys(TEST_ACCOUNTS))
    test(`${number} is identified by its last digits`, () => {
      assert.equal(behaviourOf(accountDetails(number)), behaviourOfAccount(number))
    })

  test('that is unknown fails', () => {
    assert.equal(behaviourOfAccount('1').error?.code, 'no_account')
  })
})
