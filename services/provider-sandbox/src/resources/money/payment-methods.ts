import {
  BANK_ACCOUNT,
  CARD,
  type PaymentError,
  type PaymentMethodDetails,
} from '../../state/objects/money.ts'

/** How a test card or a test account behaves, as the provider documents it. */
export type Behaviour = {
  title: string
  error?: PaymentError
  /** The bank asks the customer to confirm first. */
  challenge?: boolean
  /** How refunds to it turn out. */
  refunds?: 'pending' | 'fail-later'
}

const declines = (title: string, message: string, code: string, reason?: string): Behaviour => ({
  title,
  error: { type: 'card_error', code, ...(reason && { decline_code: reason }), message },
})

const DECLINED = 'Your card was declined.'

const EXPIRED = declines('Declined: expired card', 'Your card has expired.', 'expired_card')

export const TEST_CARDS: Record<string, Behaviour> = {
  '4242424242424242': { title: 'Succeeds' },
  '5555555555554444': { title: 'Succeeds (Mastercard)' },
  '378282246310005': { title: 'Succeeds (American Express)' },
  '4000000000000002': declines('Declined', DECLINED, 'card_declined', 'generic_decline'),
  '4000000000009995': declines(
    'Declined: insufficient funds',
    'Your card has insufficient funds.',
    'card_declined',
    'insufficient_funds',
  ),
  '4000000000009987': declines('Declined: lost card', DECLINED, 'card_declined', 'lost_card'),
  '4000000000000069': EXPIRED,
  '4000000000000127': declines(
    'Declined: wrong CVC',
    "Your card's security code is incorrect.",
    'incorrect_cvc',
  ),
  '4000000000000119': declines(
    'Declined: processing error',
    'An error occurred while processing your card.',
    'processing_error',
  ),
  '4000002500003155': { title: 'The bank asks first (3-D Secure)', challenge: true },
  '4000000000007726': { title: 'Succeeds; refunds are pending, then succeed', refunds: 'pending' },
  '4000000000005126': { title: 'Succeeds; refunds succeed, then fail', refunds: 'fail-later' },
}

const returned = (code: string, message: string): PaymentError => ({
  type: 'invalid_request_error',
  code,
  message,
})

export const TEST_ACCOUNTS: Record<string, Behaviour> = {
  '000123456789': { title: 'Settles later', refunds: 'pending' },
  '000111111113': {
    title: 'Fails later: account closed',
    error: returned('account_closed', 'The bank account has been closed.'),
  },
  '000222222227': {
    title: 'Fails later: insufficient funds',
    error: returned('insufficient_funds', 'The bank account has insufficient funds.'),
  },
}

const UNKNOWN_CARD = declines(
  'Not a test card',
  'Your card was declined: the sandbox takes test cards only.',
  'card_declined',
  'test_mode_live_card',
)

const WRONG_NUMBER = declines(
  'Not a card number',
  'Your card number is incorrect.',
  'incorrect_number',
)

const UNKNOWN_ACCOUNT: Behaviour = {
  title: 'Not a test account',
  error: returned('no_account', 'No bank account was found with this number.'),
}

export function behaviourOfCard(number: string, expired = false): Behaviour {
  if (expired) return EXPIRED
  if (Object.hasOwn(TEST_CARDS, number)) return TEST_CARDS[number] as Behaviour
  return isCardNumber(number) ? UNKNOWN_CARD : WRONG_NUMBER
}

export function behaviourOfAccount(number: string): Behaviour {
  if (Object.hasOwn(TEST_ACCOUNTS, number)) return TEST_ACCOUNTS[number] as Behaviour
  return UNKNOWN_ACCOUNT
}

/** The behaviour of a charge's method, found by its last four digits. */
export function behaviourOf(details: PaymentMethodDetails): Behaviour | undefined {
  const [methods, last4] =
    details.type === 'card'
      ? [TEST_CARDS, details.card.last4]
      : [TEST_ACCOUNTS, details.us_bank_account.last4]
  return Object.entries(methods).find(([number]) => number.endsWith(last4))?.[1]
}

/** `expiry` is `MM/YY`. */
export function cardDetails(number: string, expiry: string): PaymentMethodDetails {
  const brand = { 3: 'amex', 5: 'mastercard' }[Number(number[0])] ?? 'visa'
  const [month, year] = expiry.split('/').map(Number)
  const expires = { exp_month: month || 12, exp_year: 2000 + (year || 60) }
  const last4 = number.slice(-4)
  return {
    type: 'card',
    card: { ...CARD, brand, ...expires, last4, country: 'US', funding: 'credit' },
  }
}

export function accountDetails(number: string): PaymentMethodDetails {
  const account = { ...BANK_ACCOUNT, bank_name: 'SANDBOX BANK', last4: number.slice(-4) }
  return { type: 'us_bank_account', us_bank_account: account }
}

/** The Luhn checksum, which catches a mistyped digit. */
function isCardNumber(number: string): boolean {
  if (!/^\d{12,19}$/.test(number)) return false
  const digits = [...number].reverse().map(Number)
  const doubled = (digit: number) => (digit > 4 ? digit * 2 - 9 : digit * 2)
  const sum = digits.reduce((total, digit, n) => total + (n % 2 ? doubled(digit) : digit), 0)
  return sum % 10 === 0
}
