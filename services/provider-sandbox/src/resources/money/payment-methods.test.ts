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
    test(`is declined when it is not one of them: ${number}`, () => {
      assert.equal(behaviourOfCard(number).error?.decline_code, decline)
    })

  test('is an incorrect number when it is malformed', () => {
    for (const number of ['', 'abc', '0'.repeat(30)])
      assert.equal(behaviourOfCard(number).error?.code, 'incorrect_number')
  })

  test('is declined as expired after its expiry date', () => {
    assert.equal(behaviourOfCard('4242424242424242', true).error?.code, 'expired_card')
  })
})

describe('a test account', () => {
  for (const number of Object.keys(TEST_ACCOUNTS))
    test(`${number} is identified by its last digits`, () => {
      assert.equal(behaviourOf(accountDetails(number)), behaviourOfAccount(number))
    })

  test('fails when it is unknown', () => {
    assert.equal(behaviourOfAccount('1').error?.code, 'no_account')
  })
})
