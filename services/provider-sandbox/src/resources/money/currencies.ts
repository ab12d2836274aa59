import { parameterInvalid, requestRefused } from '../../protocol/errors.ts'

const TWO_DECIMALS =
  'aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bmd bnd bob brl bsd bwp byn bzd cad cdf ' +
  'chf cny cop crc cve czk dkk dop dzd egp etb eur fjd fkp gbp gel gip gmd gtq gyd hkd hnl hrk htg ' +
  'huf idr ils inr isk jmd kes kgs khr kyd kzt lak lbp lkr lrd lsl mad mdl mkd mmk mnt mop mur mvr ' +
  'mwk mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php pkr pln qar ron rsd rub sar sbd scr sek ' +
  'sgd shp sle sll sos srd std szl thb tjs top try ttd twd tzs uah usd uyu uzs wst xcd yer zar zmw'

// The provider lists UGX both here and among its special cases; listed here, no amount is refused.
const ZERO_DECIMALS = 'bif clp djf gnf jpy kmf krw mga pyg rwf ugx vnd vuv xaf xof xpf'
const THREE_DECIMALS = 'bhd jod kwd omr tnd'

const DECIMALS = new Map<string, number>([
  ...ZERO_DECIMALS.split(' ').map((code) => [code, 0] as const),
  ...TWO_DECIMALS.split(' ').map((code) => [code, 2] as const),
  ...THREE_DECIMALS.split(' ').map((code) => [code, 3] as const),
])

/** Amounts must be whole multiples of this many minor units. */
const STEPS = new Map<string, number>([
  ...THREE_DECIMALS.split(' ').map((code) => [code, 10] as const),
  ['isk', 100],
])

/** The provider's minimums where they are not 50 minor units (500 with three decimals). */
const MINIMUMS: Record<string, number> = {
  aed: 200,
  bgn: 100,
  czk: 1500,
  dkk: 250,
  gbp: 30,
  hkd: 400,
  huf: 17_500,
  inr: 50,
  mxn: 1000,
  myr: 200,
  nok: 300,
  pln: 200,
  ron: 200,
  sek: 300,
  thb: 1000,
}

const MAX_AMOUNT = 99_999_999

export function readCurrency(given: string, param: string): string {
  const currency = given.toLowerCase()
  if (DECIMALS.has(currency)) return currency
  throw parameterInvalid(param, `Invalid currency: ${given}`, 'parameter_invalid_currency')
}

export function decimalsOf(currency: string): number {
  return DECIMALS.get(currency) ?? 2
}

/** Refuses an amount that does not exist in the currency. */
export function checkStep(amount: number, currency: string, param: string): void {
  const step = STEPS.get(currency) ?? 1
  if (amount % step !== 0)
    throw parameterInvalid(
      param,
      `Invalid amount in ${currency}: must be a multiple of ${step}.`,
      'parameter_invalid_integer',
    )
}

/** Refuses an amount outside the provider's minimum and maximum. */
export function checkLimits(amount: number, currency: string): void {
  const least = MINIMUMS[currency] ?? { 0: 50, 2: 50, 3: 500 }[decimalsOf(currency)] ?? 50
  if (amount > 0 && amount < least)
    throw requestRefused(
      `The Checkout Session's total amount must be at least ${formatAmount(least, currency)}.`,
      'amount_too_small',
    )
  if (amount > MAX_AMOUNT)
    throw requestRefused(
      `The Checkout Session's total amount must be no more than ${formatAmount(MAX_AMOUNT, currency)}.`,
      'amount_too_large',
    )
}

/** `1050` in `usd` is `$10.50`. Uses the provider's decimals, which are not always the locale's. */
export function formatAmount(amount: number, currency: string): string {
  const decimals = decimalsOf(currency)
  const digits = String(amount).padStart(decimals + 1, '0')
  const exact = decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
  return new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }).format(exact as Intl.StringNumericLiteral)
}
