/**
 * The objects of the provider's API, with the members that its clients read. Names, nulls and
 * words are the provider's, which is why they are in snake case.
 */
export type Metadata = Record<string, string>

type Base<K extends string> = { id: string; object: K; created: number; livemode: false }

export type Customer = Base<'customer'> & {
  balance: number
  currency: null
  default_source: null
  delinquent: false
  description: string | null
  email: string | null
  invoice_settings: { custom_fields: null; default_payment_method: null; footer: null }
  metadata: Metadata
  name: string | null
  phone: string | null
  preferred_locales: string[]
  shipping: null
  tax_exempt: 'none'
}

export type DeletedCustomer = { id: string; object: 'customer'; deleted: true }

export type CheckoutSession = Base<'checkout.session'> & {
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
  invoice: null
  locale: string | null
  metadata: Metadata
  mode: 'payment'
  payment_intent: string | null
  payment_link: null
  payment_method_options: Record<string, never>
  payment_method_types: string[]
  payment_status: 'unpaid' | 'paid' | 'no_payment_required'
  setup_intent: null
  shipping_options: never[]
  status: 'open' | 'complete' | 'expired'
  submit_type: string | null
  subscription: null
  success_url: string
  total_details: { amount_discount: number; amount_shipping: number; amount_tax: number }
  ui_mode: 'hosted_page'
  url: string | null
}

export type LineItem = {
  id: string
  object: 'item'
  amount_discount: number
  amount_subtotal: number
  amount_tax: number
  amount_total: number
  currency: string
  description: string
  metadata: Metadata
  price: Price
  quantity: number
}

type Price = Base<'price'> & {
  active: false
  billing_scheme: 'per_unit'
  currency: string
  metadata: Metadata
  product: string
  recurring: null
  type: 'one_time'
  unit_amount: number
  unit_amount_decimal: string
}

export type PaymentError = { type: string; code: string; decline_code?: string; message: string }

export type PaymentIntent = Base<'payment_intent'> & {
  amount: number
  amount_capturable: 0
  amount_received: number
  canceled_at: number | null
  cancellation_reason: string | null
  capture_method: 'automatic_async'
  client_secret: string
  confirmation_method: 'automatic'
  currency: string
  customer: string | null
  description: string | null
  last_payment_error: PaymentError | null
  latest_charge: string | null
  metadata: Metadata
  next_action: { type: 'redirect_to_url'; redirect_to_url: { url: string } } | null
  payment_method: string | null
  payment_method_types: string[]
  processing: null
  receipt_email: string | null
  statement_descriptor: string | null
  status: 'requires_payment_method' | 'requires_action' | 'processing' | 'succeeded' | 'canceled'
}

export type PaymentMethodDetails =
  | { type: 'card'; card: { brand: string; last4: string; country: string; funding: string } }
  | { type: 'us_bank_account'; us_bank_account: { bank_name: string; last4: string } }

export type Charge = Base<'charge'> & {
  amount: number
  amount_captured: number
  amount_refunded: number
  balance_transaction: string | null
  billing_details: { email: string | null; name: string | null; phone: null }
  captured: boolean
  currency: string
  customer: string | null
  description: string | null
  disputed: false
  failure_balance_transaction: null
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

type RefundStatus = 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled'

export type Refund = Omit<Base<'refund'>, 'livemode'> & {
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
  receipt_number: null
  source_transfer_reversal: null
  status: RefundStatus
  transfer_reversal: null
}

export type BalanceTransaction = Omit<Base<'balance_transaction'>, 'livemode'> & {
  amount: number
  available_on: number
  balance_type: 'payments'
  currency: string
  description: string | null
  exchange_rate: null
  fee: 0
  fee_details: never[]
  net: number
  reporting_category: string
  source: string
  status: 'available'
  type: 'charge' | 'payment' | 'refund' | 'refund_failure'
}

export type Event = Omit<Base<'event'>, 'livemode'> & {
  livemode: boolean
  api_version: string
  data: { object: object; previous_attributes?: object }
  pending_webhooks: number
  request: { id: string | null; idempotency_key: string | null }
  type: string
}

export type WebhookEndpoint = Base<'webhook_endpoint'> & {
  api_version: string | null
  application: null
  description: string | null
  enabled_events: string[]
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
