import { parameterInvalid, parameterMissing, resourceMissing } from '../../protocol/errors.ts'
import { type List, listOf } from '../../protocol/lists.ts'
import {
  integer,
  list,
  metadata,
  object,
  required,
  text,
  webAddress,
} from '../../protocol/parameters.ts'
import type { LineItem } from '../../state/object-kinds.ts'
import { insertObject, listObjects } from '../../state/objects.repository.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { newId } from '../../state/seeded.ts'
import { checkStep, readCurrency } from '../money/currencies.ts'

const MOST_ITEMS = 100

/** The sandbox keeps no catalogue: every price is given with the session. */
export const lineItems = list(
  required(
    object({
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
    }),
  ),
  MOST_ITEMS,
)

type GivenItems = NonNullable<ReturnType<typeof lineItems>>

export type PricedItem = {
  name: string
  currency: string
  unitAmount: number
  quantity: number
  total: number
}

/** Checks what one schema cannot see: prices, one currency, amounts that exist in it. */
export function priceItems(given: GivenItems): PricedItem[] {
  if (given.length === 0) throw parameterMissing('line_items')
  const items = given.map((item, index) => priceItem(item, `line_items[${index}]`))
  const other = items.find((item) => item.currency !== items[0]?.currency)
  if (other) throw parameterInvalid('line_items', 'All line items must be in the same currency.')
  if (!Number.isSafeInteger(items.reduce((sum, item) => sum + item.total, 0)))
    throw parameterInvalid('line_items', 'The total of the line items is too large.')
  return items
}

function priceItem(item: GivenItems[number], param: string): PricedItem {
  if (item.price !== undefined) throw resourceMissing('price', item.price, `${param}[price]`)
  if (!item.price_data) throw parameterMissing(`${param}[price_data]`)
  if (item.quantity === undefined) throw parameterMissing(`${param}[quantity]`)
  const { unit_amount: unitAmount, product_data: product } = item.price_data
  const currency = readCurrency(item.price_data.currency, `${param}[price_data][currency]`)
  checkStep(unitAmount, currency, `${param}[price_data][unit_amount]`)
  const { quantity } = item
  return { name: product.name, currency, unitAmount, quantity, total: unitAmount * quantity }
}

export async function insertLineItems(
  sandbox: Sandbox,
  sessionId: string,
  items: PricedItem[],
): Promise<void> {
  for (const item of items)
    await insertObject(sandbox.db, await describeItem(sandbox, item), { parent: sessionId })
}

async function describeItem(sandbox: Sandbox, item: PricedItem): Promise<LineItem> {
  return {
    id: await newId(sandbox, 'li'),
    object: 'item',
    amount_discount: 0,
    amount_subtotal: item.total,
    amount_tax: 0,
    amount_total: item.total,
    currency: item.currency,
    description: item.name,
    metadata: {},
    price: {
      id: await newId(sandbox, 'price'),
      object: 'price',
      active: false,
      billing_scheme: 'per_unit',
      created: secondsOf(sandbox.clock()),
      currency: item.currency,
      livemode: false,
      metadata: {},
      product: await newId(sandbox, 'prod', 14),
      recurring: null,
      type: 'one_time',
      unit_amount: item.unitAmount,
      unit_amount_decimal: String(item.unitAmount),
    },
    quantity: item.quantity,
  }
}

export async function listLineItems(sandbox: Sandbox, sessionId: string): Promise<List<LineItem>> {
  const items = await listObjects(sandbox.db, 'item', { parent: sessionId })
  return listOf(items.reverse(), `/v1/checkout/sessions/${sessionId}/line_items`)
}
