/**
 * The objects of the provider's API. Names, nulls and words are the provider's, which is why they
 * are in snake case. What the sandbox never varies is a constant, once for the type and the object.
 */
type Base = { id: string; created: number }

type Texts<Name extends string> = Record<Name, string>

type NullableTexts<Name extends string> = Record<Name, string | null>

type Numbers<Name extends string> = Record<Name, number>

export type Metadata = Record<string, string>

/** An empty value removes an entry, an empty change removes them all. */
export function mergeMetadata(present: Metadata, change: Metadata | undefined): Metadata {
  if (change === undefined) return present
  if (Object.keys(change).length === 0) return {}
  return Object.fromEntries(
    Object.entries({ ...present, ...change }).filter(([, value]) => value !== ''),
  )
}

/** Members that are always null. */
function nulls<Name extends string>(...names: Name[]): Record<Name, null> {
  return Object.fromEntries(names.map((name) => [name, null])) as Record<Name, null>
}

export const CUSTOMER = {
  ...nulls('currency', 'default_source', 'shipping'),
  object: 'customer',
  balance: 0,
  delinquent: false,
  invoice_settings: nulls('custom_fields', 'default_payment_method', 'footer'),
  livemode: false,
  preferred_locales: [],
  tax_exempt: 'none',
} as const

export type Customer = Base &
  typeof CUSTOMER &
  NullableTexts<'description' | 'email' | 'name' | 'phone'> & { metadata: Metadata }

export type DeletedCustomer = { id: string; object: 'customer'; deleted: true }

export const CHECKOUT_SESSION = {
  ...nulls('invoice', 'payment_link', 'setup_intent', 'subscription'),
  object: 'checkout.session',
  livemode: false,
  mode: 'payment',
  payment_method_options: {},
  shipping_options: [],
  total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
  ui_mode: 'hosted_page',
} as const

export type CheckoutSession = Base &
  typeof CHECKOUT_SESSION &
  Numbers<'amount_subtotal' | 'amount_total' | 'expires_at'> &
  Texts<'currency' | 'success_url'> &
  NullableTexts<'cancel_url' | 'client_reference_id' | 'customer' | 'customer_creation'> &
  NullableTexts<'customer_email' | 'locale' | 'payment_intent' | 'submit_type' | 'url'> & {
    customer_details: { email: string | null; name: string | null; phone: null } | null
    metadata: Metadata
    payment_method_types: string[]
    payment_status: 'unpaid' | 'paid' | 'no_payment_required'
    status: 'open' | 'complete' | 'expired'
  }

export const LINE_ITEM = {
  object: 'item',
  amount_discount: 0,
  amount_tax: 0,
  metadata: {},
} as const

export const PRICE = {
  object: 'price',
  active: false,
  billing_scheme: 'per_unit',
  livemode: false,
  metadata: {},
  recurring: null,
  type: 'one_time',
} as const

export type LineItem = typeof LINE_ITEM &
  Texts<'id' | 'currency' | 'description'> &
  Numbers<'amount_subtotal' | 'amount_total' | 'quantity'> & {
    price: Base &
      typeof PRICE &
      Texts<'currency' | 'product' | 'unit_amount_decimal'> & { unit_amount: number }
  }

export type PaymentError = { type: string; code: string; decline_code?: string; message: string }

export const PAYMENT_INTENT = {
  object: 'payment_intent',
  amount_capturable: 0,
  capture_method: 'automatic_async',
  confirmation_method: 'automatic',
  livemode: false,
  processing: null,
} as const

export type PaymentIntent = Base &
  typeof PAYMENT_INTENT &
  Numbers<'amount' | 'amount_received'> &
  Texts<'client_secret' | 'currency'> &
  NullableTexts<'cancellation_reason' | 'customer' | 'description' | 'latest_charge'> &
  NullableTexts<'payment_method' | 'receipt_email' | 'statement_descriptor'> & {
    canceled_at: number | null
    last_payment_error: PaymentError | null
    metadata: Metadata
    next_action: { type: 'redirect_to_url'; redirect_to_url: { url: string } } | null
    payment_method_types: string[]
    status: 'requires_payment_method' | 'requires_action' | 'processing' | 'succeeded' | 'canceled'
  }

export type PaymentMethodDetails =
  | { type: 'card'; card: Texts<'brand' | 'country' | 'funding' | 'last4'> }
  | { type: 'us_bank_account'; us_bank_account: Texts<'bank_name' | 'last4'> }

export const CHARGE = {
  object: 'charge',
  disputed: false,
  failure_balance_transaction: null,
  livemode: false,
} as const

export type Charge = Base &
  typeof CHARGE &
  Numbers<'amount' | 'amount_captured' | 'amount_refunded'> &
  Texts<'currency' | 'payment_intent' | 'payment_method'> &
  NullableTexts<'balance_transaction' | 'customer' | 'description' | 'failure_code'> &
  NullableTexts<'failure_message' | 'receipt_email'> & {
    billing_details: { email: string | null; name: string | null; phone: null }
    captured: boolean
    metadata: Metadata
    outcome: { network_status: string; reason: string | null; type: string } | null
    paid: boolean
    payment_method_details: PaymentMethodDetails
    refunded: boolean
    status: 'succeeded' | 'pending' | 'failed'
  }

export const REFUND = {
  ...nulls('receipt_number', 'source_transfer_reversal', 'transfer_reversal'),
  object: 'refund',
} as const

export type Refund = Base &
  typeof REFUND &
  Texts<'charge' | 'currency' | 'payment_intent' | 'payment_method'> &
  NullableTexts<'balance_transaction' | 'customer' | 'reason'> &
  Partial<Texts<'failure_balance_transaction' | 'failure_reason' | 'pending_reason'>> & {
    amount: number
    destination_details: { type: string }
    metadata: Metadata
    status: 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled'
  }

export const BALANCE_TRANSACTION = {
  ...nulls('description', 'exchange_rate'),
  object: 'balance_transaction',
  balance_type: 'payments',
  fee: 0,
  fee_details: [],
  status: 'available',
} as const

export type BalanceTransaction = Base &
  typeof BALANCE_TRANSACTION &
  Numbers<'amount' | 'available_on' | 'net'> &
  Texts<'currency' | 'reporting_category' | 'source'> & {
    type: 'charge' | 'payment' | 'refund' | 'refund_failure'
  }

export type Event = Base & {
  object: 'event'
  api_version: string
  data: { object: object; previous_attributes?: object }
  livemode: boolean
  pending_webhooks: number
  request: { id: string | null; idempotency_key: string | null }
  type: string
}

export type WebhookEndpoint = Base & {
  object: 'webhook_endpoint'
  api_version: string | null
  application: null
  description: string | null
  enabled_events: string[]
  livemode: false
  metadata: Metadata
  status: 'enabled' | 'disabled'
  url: string
}

export type ObjectKinds = {
  customer: Customer | DeletedCustomer
  'checkout.session': CheckoutSession
  item: LineItem
  payment_intent: PaymentIntent
  charge: Charge
  refund: Refund
  balance_transaction: BalanceTransaction
  event: Event
  webhook_endpoint: WebhookEndpoint
}

/** What is kept beside an object and never shown. */
export type Hidden = {
  /** For the payment intent, which a session has only when the customer first tries to pay. */
  'checkout.session': Partial<Texts<'description' | 'receipt_email' | 'statement_descriptor'>> & {
    metadata?: Metadata
  }
  /** The second secret signs while the first is being replaced. */
  webhook_endpoint: Texts<'secret' | 'secondSecret'>
}

export type Kind = keyof ObjectKinds

export type ProviderObject = ObjectKinds[Kind]
