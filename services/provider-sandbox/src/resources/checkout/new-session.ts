import { DAY_SECONDS, MINUTE_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { traceHeaders } from '@plinth/kit/tracing'
import { parameterInvalid, parameterMissing, resourceMissing } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/operations.ts'
import * as read from '../../protocol/parameters.ts'
import {
  CHECKOUT_SESSION,
  type CheckoutSession,
  LINE_ITEM,
  type LineItem,
  PRICE,
} from '../../state/objects/kinds.ts'
import { mergeMetadata } from '../../state/objects/members.ts'
import { insertObject } from '../../state/objects/objects.repository.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { newId, newObject } from '../../state/seeded.ts'
import { readSwitches } from '../../state/switches.ts'
import { requireCustomer } from '../customers.ts'
import { checkLimits, checkStep, readCurrency } from '../money/currencies.ts'
import { insertTimer } from '../timers.repository.ts'

/** The sandbox has no catalogue: every price is given with the session. */
const itemFields = {
  price: read.text(),
  price_data: read.object({
    currency: read.required(read.text()),
    unit_amount: read.required(read.integer()),
    product_data: read.required(
      read.object({
        name: read.required(read.text()),
        description: read.text(),
        images: read.list(read.required(read.webAddress()), 8),
        metadata: read.metadata(),
      }),
    ),
  }),
  quantity: read.integer({ min: 1, max: 999_999 }),
}

const sessionFields = {
  mode: read.required(read.choice(['payment', 'setup', 'subscription'])),
  line_items: read.required(read.list(read.required(read.object(itemFields)), 100)),
  success_url: read.required(read.webAddress()),
  cancel_url: read.webAddress(),
  customer: read.text(),
  customer_email: read.email(),
  customer_creation: read.choice(['if_required']),
  client_reference_id: read.text({ max: 200 }),
  expires_at: read.integer(),
  locale: read.text({ max: 10 }),
  submit_type: read.choice(['auto', 'book', 'donate', 'pay']),
  ui_mode: read.choice(['hosted_page']),
  payment_method_types: read.list(read.required(read.choice(['card', 'us_bank_account'])), 10),
  payment_intent_data: read.object({
    description: read.text({ max: 1000 }),
    metadata: read.metadata(),
    receipt_email: read.email(),
    statement_descriptor: read.text({ max: 22 }),
  }),
  metadata: read.metadata(),
}

type GivenSession = ReturnType<typeof read.parameters<typeof sessionFields>>

export const createSession: Operation = async (sandbox, { form }) => {
  const given = read.parameters(form, sessionFields)
  const items = priceItems(given.line_items)
  checkSession(given, secondsOf(sandbox.clock()))
  const session = await describeSession(sandbox, given, items)
  if ((await readSwitches(sandbox.db)).amountLimits)
    checkLimits(session.amount_total, session.currency)
  if (session.customer !== null) await requireCustomer(sandbox, session.customer, 'customer')

  await insertObject(sandbox.db, session, {
    hidden: { ...given.payment_intent_data, ...traceHeaders() },
  })
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

/** Checks what a schema cannot: that there are prices, all in one currency, and amounts that exist in it. */
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

const MIN_SECONDS = 30 * MINUTE_SECONDS
const MAX_SECONDS = DAY_SECONDS

function checkSession(given: GivenSession, nowSeconds: number): void {
  if (given.mode !== 'payment')
    throw parameterInvalid('mode', 'The sandbox supports only one mode: payment.')
  if (given.customer !== undefined && given.customer_email !== undefined)
    throw parameterInvalid(
      'customer_email',
      'You may only specify one of these parameters: customer, customer_email.',
    )
  const lifetime = (given.expires_at ?? nowSeconds + MAX_SECONDS) - nowSeconds
  if (lifetime < MIN_SECONDS || lifetime > MAX_SECONDS)
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
    expires_at: given.expires_at ?? secondsOf(secondsAfter(sandbox.clock(), MAX_SECONDS)),
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
    price: {
      ...(await newObject(sandbox, 'price')),
      ...PRICE,
      currency,
      product: await newId(sandbox, 'prod', 14),
      unit_amount: unitAmount,
      unit_amount_decimal: String(unitAmount),
    },
    quantity,
  }
}
