import { secondsAfter } from '@plinth/kit'
import { parameterInvalid } from '../../protocol/errors.ts'
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
import type { CheckoutSession } from '../../state/object-kinds.ts'
import { insertObject } from '../../state/objects.repository.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { newId } from '../../state/seeded.ts'
import { readSwitches } from '../../state/switches.ts'
import { requireCustomer } from '../customers.ts'
import { checkLimits } from '../money/currencies.ts'
import { insertTimer } from '../timers.repository.ts'
import { insertLineItems, lineItems, type PricedItem, priceItems } from './line-items.ts'

const SHORTEST_SECONDS = 30 * 60

const LONGEST_SECONDS = 24 * 60 * 60

const sessionFields = {
  mode: required(choice(['payment', 'setup', 'subscription'])),
  line_items: required(lineItems),
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

export const createSession: Operation = async (sandbox, { form }) => {
  const given = readParameters(form, sessionFields)
  const items = priceItems(given.line_items)
  checkSession(given, secondsOf(sandbox.clock()))
  const session = await describeSession(sandbox, given, items)
  if ((await readSwitches(sandbox.db)).amountLimits)
    checkLimits(session.amount_total, session.currency)
  if (session.customer !== null) await requireCustomer(sandbox, session.customer, 'customer')

  await insertObject(sandbox.db, session, { hidden: given.payment_intent_data ?? {} })
  await insertLineItems(sandbox, session.id, items)
  await insertTimer(sandbox.db, 'expire-session', session.id, new Date(session.expires_at * 1000))
  return session
}

type GivenSession = ReturnType<typeof readParameters<typeof sessionFields>>

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
  const id = await newId(sandbox, 'cs_test', 58)
  const total = items.reduce((sum, item) => sum + item.total, 0)
  return {
    id,
    object: 'checkout.session',
    amount_subtotal: total,
    amount_total: total,
    cancel_url: given.cancel_url ?? null,
    client_reference_id: given.client_reference_id ?? null,
    created: secondsOf(sandbox.clock()),
    currency: items[0]?.currency ?? 'usd',
    customer: given.customer ?? null,
    customer_creation: given.customer === undefined ? 'if_required' : null,
    customer_details: null,
    customer_email: given.customer_email ?? null,
    expires_at: given.expires_at ?? secondsOf(secondsAfter(sandbox.clock(), LONGEST_SECONDS)),
    invoice: null,
    livemode: false,
    locale: given.locale ?? null,
    metadata: mergeMetadata({}, given.metadata),
    mode: 'payment',
    payment_intent: null,
    payment_link: null,
    payment_method_options: {},
    payment_method_types: given.payment_method_types ?? ['card', 'us_bank_account'],
    payment_status: total === 0 ? 'no_payment_required' : 'unpaid',
    setup_intent: null,
    shipping_options: [],
    status: 'open',
    submit_type: given.submit_type ?? null,
    subscription: null,
    success_url: given.success_url,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted_page',
    url: `${sandbox.publicUrl()}/pay/${id}`,
  }
}
