/**
 * The objects of the provider's API. Names, nulls and words are the provider's, which is why they
 * are in snake case. What the sandbox never varies is a constant, once for the type and the object.
 */
export type Metadata = Record<string, string>

type Base = { id: string; created: number }

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
  preferred_locales: [] as string[],
  tax_exempt: 'none',
} as const

export type Customer = Base &
  typeof CUSTOMER & {
    description: string | null
    email: string | null
    metadata: Metadata
    name: string | null
    phone: string | null
  }

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
  typeof CHECKOUT_SESSION & {
    amount_subtotal: number
    amount_total: number
    cancel_url: string | null
    client_reference_id: string | null
    currency: string
    customer: string | null
    customer_creation: string | null
    customer_details: { email: string | null; name: string | null; phone: null } | null
    customer_email: string | null
    expires_at: number
    locale: string | null
    metadata: Metadata
    payment_intent: string | null
    payment_method_types: string[]
    payment_status: 'unpaid' | 'paid' | 'no_payment_required'
    status: 'open' | 'complete' | 'expired'
    submit_type: string | null
    success_url: string
    url: string | null
  }

export const LINE_ITEM = { object: 'item', amount_discount: 0, amount_tax: 0 } as const

export const PRICE = {
  object: 'price',
  active: false,
  billing_scheme: 'per_unit',
  livemode: false,
  recurring: null,
  type: 'one_time',
} as const

export type LineItem = typeof LINE_ITEM & {
  id: string
  amount_subtotal: number
  amount_total: number
  currency: string
  description: string
  metadata: Metadata
  price: Base &
    typeof PRICE & {
      currency: string
      metadata: Metadata
      product: string
      unit_amount: number
      unit_amount_decimal: string
    }
  quantity: number
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
  typeof PAYMENT_INTENT & {
    amount: number
    amount_received: number
    canceled_at: number | null
    cancellation_reason: string | null
    client_secret: string
    currency: string
    customer: string | null
    description: string | null
    last_payment_error: PaymentError | null
    latest_charge: string | null
    metadata: Metadata
    next_action: { type: 'redirect_to_url'; redirect_to_url: { url: string } } | null
    payment_method: string | null
    payment_method_types: string[]
    receipt_email: string | null
    statement_descriptor: string | null
    status: 'requires_payment_method' | 'requires_action' | 'processing' | 'succeeded' | 'canceled'
  }

export type PaymentMethodDetails =
  | { type: 'card'; card: { brand: string; last4: string; country: string; funding: string } }
  | { type: 'us_bank_account'; us_bank_account: { bank_name: string; last4: string } }

export const CHARGE = {
  object: 'charge',
  disputed: false,
  failure_balance_transaction: null,
  livemode: false,
} as const

export type Charge = Base &
  typeof CHARGE & {
    amount: number
    amount_captured: number
    amount_refunded: number
    balance_transaction: string | null
    billing_details: { email: string | null; name: string | null; phone: null }
    captured: boolean
    currency: string
    customer: string | null
    description: string | null
    failure_code: string | null
    failure_message: string | null
    metadata: Metadata
    outcome: { network_status: string; reason: string | null; type: string } | null
    paid: boolean
    payment_intent: string
    payment_method: string
    payment_method_details: PaymentMethodDetails
    receipt_email: string | null
    refunded: boolean
    status: 'succeeded' | 'pending' | 'failed'
  }

export const REFUND = {
  ...nulls('receipt_number', 'source_transfer_reversal', 'transfer_reversal'),
  object: 'refund',
} as const

export type Refund = Base &
  typeof REFUND & {
    amount: number
    balance_transaction: string | null
    charge: string
    currency: string
    customer: string | null
    destination_details: { type: string }
    failure_balance_transaction?: string
    failure_reason?: string
    metadata: Metadata
    payment_intent: string
    payment_method: string
    pending_reason?: string
    reason: string | null
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
  typeof BALANCE_TRANSACTION & {
    amount: number
    available_on: number
    currency: string
    net: number
    reporting_category: string
    source: string
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

export type Kind = keyof ObjectKinds

export type ProviderObject = ObjectKinds[Kind]
