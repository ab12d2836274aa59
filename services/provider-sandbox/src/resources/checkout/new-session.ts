import { secondsAfter } from '@plinth/kit'
import { parameterInvalid, parameterMissing, resourceMissing } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/operation.ts'
import {
  choice,
  email,
  integer,
  list,
  mergeMetadata,
  metadata,
  object,
  readParameters,
  required,
  text,
  webAddress,
} from '../../protocol/parameters.ts'
import {
  CHECKOUT_SESSION,
  type CheckoutSession,
  LINE_ITEM,
  type LineItem,
  PRICE,
} from '../../state/object-kinds.ts'
import { insertObject } from '../../state/objects.repository.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { newId, newObject } from '../../state/seeded.ts'
import { readSwitches } from '../../state/switches.ts'
import { requireCustomer } from '../customers.ts'
import { checkLimits, checkStep, readCurrency } from '../money/currencies.ts'
import type { PaymentIntentData } from '../money/payment-intents.ts'
import { insertTimer } from '../timers.repository.ts'

/** The sandbox has no catalogue: every price is given with the session. */
const itemFields = {
  price: text(),
  price_data: object({
    currency: required(text()),
    unit_amount: required(integer()),
    product_data: required(
      object({
        name: required(text()),
        description: text(),
        images: list(required(webAddress()), 8),
        metadata: metadata(),
      }),
    ),
  }),
  quantity: integer({ min: 1, max: 999_999 }),
}

const sessionFields = {
  mode: required(choice(['payment', 'setup', 'subscription'])),
  line_items: required(list(required(object(itemFields)), 100)),
  success_url: required(webAddress()),
  cancel_url: webAddress(),
  customer: text(),
  customer_email: email(),
  customer_creation: choice(['if_required']),
  client_reference_id: text({ max: 200 }),
  expires_at: integer(),
  locale: text({ max: 10 }),
  submit_type: choice(['auto', 'book', 'donate', 'pay']),
  ui_mode: choice(['hosted_page']),
  payment_method_types: list(required(choice(['card', 'us_bank_account'])), 10),
  payment_intent_data: object({
    description: text({ max: 1000 }),
    metadata: metadata(),
    receipt_email: email(),
    statement_descriptor: text({ max: 22 }),
  }),
  metadata: metadata(),
}

type GivenSession = ReturnType<typeof readParameters<typeof sessionFields>>

export const createSession: Operation = async (sandbox, { form }) => {
  const given = readParameters(form, sessionFields)
  const items = priceItems(given.line_items)
  checkSession(given, secondsOf(sandbox.clock()))
  const session = await describeSession(sandbox, given, items)
  if ((await readSwitches(sandbox.db)).amountLimits)
    checkLimits(session.amount_total, session.currency)
  if (session.customer !== null) await requireCustomer(sandbox, session.customer, 'customer')

  const hidden: PaymentIntentData = given.payment_intent_data ?? {}
  await insertObject(sandbox.db, session, { hidden })
  for (const item of items)
    await insertObject(sandbox.db, await describeItem(sandbox, item), { parent: session.id })
  await insertTimer(sandbox.db, 'expire-session', session.id, new Date(session.expires_at * 1000))
  return session
}

type PricedItem = {
  name: string
  currency: string
  unitAmount: number
  quantity: number
  total: number
}

/** Checks what a schema cannot see: prices, one currency, amounts that exist in it. */
function priceItems(given: GivenSession['line_items']): PricedItem[] {
  if (given.length === 0) throw parameterMissing('line_items')
  const items = given.map((item, index) => priceItem(item, `line_items[${index}]`))
  const other = items.find((item) => item.currency !== items[0]?.currency)
  if (other) throw parameterInvalid('line_items', 'All line items must be in the same currency.')
  if (!Number.isSafeInteger(totalOf(items)))
    throw parameterInvalid('line_items', 'The total of the line items is too large.')
  return items
}

function priceItem(item: GivenSession['line_items'][number], param: string): PricedItem {
  if (item.price !== undefined) throw resourceMissing('price', item.price, `${param}[price]`)
  if (!item.price_data) throw parameterMissing(`${param}[price_data]`)
  if (item.quantity === undefined) throw parameterMissing(`${param}[quantity]`)
  const { unit_amount: unitAmount, product_data: product } = item.price_data
  const currency = readCurrency(item.price_data.currency, `${param}[price_data][currency]`)
  checkStep(unitAmount, currency, `${param}[price_data][unit_amount]`)
  const { quantity } = item
  return { name: product.name, currency, unitAmount, quantity, total: unitAmount * quantity }
}

const totalOf = (items: PricedItem[]) => items.reduce((sum, { total }) => sum + total, 0)

const SHORTEST_SECONDS = 30 * 60

const LONGEST_SECONDS = 24 * 60 * 60

function checkSession(given: GivenSession, nowSeconds: number): void {
  if (given.mode !== 'payment')
    throw parameterInvalid('mode', 'The sandbox knows one mode only: payment.')
  if (given.customer !== undefined && given.customer_email !== undefined)
    throw parameterInvalid(
      'customer_email',
      'You may only specify one of these parameters: customer, customer_email.',
    )
  const lifetime = (given.expires_at ?? nowSeconds + LONGEST_SECONDS) - nowSeconds
  if (lifetime < SHORTEST_SECONDS || lifetime > LONGEST_SECONDS)
    throw parameterInvalid(
      'expires_at',
      'The `expires_at` timestamp must be between 30 minutes and 24 hours from now.',
    )
}

async function describeSession(
  sandbox: Sandbox,
  given: GivenSession,
  items: PricedItem[],
): Promise<CheckoutSession> {
  const { id, created } = await newObject(sandbox, 'cs_test', 58)
  const { cancel_url = null, client_reference_id = null, customer = null } = given
  const { customer_email = null, locale = null, submit_type = null } = given
  const total = totalOf(items)
  return {
    id,
    created,
    ...CHECKOUT_SESSION,
    amount_subtotal: total,
    amount_total: total,
    cancel_url,
    client_reference_id,
    currency: items[0]?.currency ?? 'usd',
    customer,
    customer_creation: customer === null ? 'if_required' : null,
    customer_details: null,
    customer_email,
    expires_at: given.expires_at ?? secondsOf(secondsAfter(sandbox.clock(), LONGEST_SECONDS)),
    locale,
    metadata: mergeMetadata({}, given.metadata),
    payment_intent: null,
    payment_method_types: given.payment_method_types ?? ['card', 'us_bank_account'],
    payment_status: total === 0 ? 'no_payment_required' : 'unpaid',
    status: 'open',
    submit_type,
    success_url: given.success_url,
    url: `${sandbox.publicUrl()}/pay/${id}`,
  }
}

async function describeItem(sandbox: Sandbox, item: PricedItem): Promise<LineItem> {
  const { currency, quantity, total, unitAmount } = item
  return {
    id: await newId(sandbox, 'li'),
    ...LINE_ITEM,
    amount_subtotal: total,
    amount_total: total,
    currency,
    description: item.name,
    metadata: {},
    price: {
      ...(await newObject(sandbox, 'price')),
      ...PRICE,
      currency,
      metadata: {},
      product: await newId(sandbox, 'prod', 14),
      unit_amount: unitAmount,
      unit_amount_decimal: String(unitAmount),
    },
    quantity,
  }
}
