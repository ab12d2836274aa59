import {
  type Base,
  type Metadata,
  type NullableTexts,
  type Numbers,
  nulls,
  type Texts,
} from './members.ts'
import type { BalanceTransaction, Charge, PaymentIntent, Refund } from './money.ts'

/**
 * The objects of the provider's API. Names, nulls and values are the provider's, hence the snake case.
 * Members that never vary in the sandbox are constants, defined once for both the type and the object.
 */
export const CUSTOMER = {
  ...nulls('currency default_source shipping'),
  object: 'customer',
  balance: 0,
  delinquent: false,
  invoice_settings: nulls('custom_fields default_payment_method footer rendering_options'),
  livemode: false,
  preferred_locales: [] as never[],
  tax_exempt: 'none',
} as const

export type Customer = Base &
  typeof CUSTOMER &
  NullableTexts<'description' | 'email' | 'name' | 'phone'> & { metadata: Metadata }

export type DeletedCustomer = { id: string; object: 'customer'; deleted: true }

export const CHECKOUT_SESSION = {
  ...nulls(
    'adaptive_pricing after_expiration allow_promotion_codes allowed_payment_method_types',
    'billing_address_collection client_secret collected_information consent consent_collection',
    'currency_conversion customer_account discounts integration_identifier invoice',
    'invoice_creation managed_payments origin_context payment_link',
    'payment_method_configuration_details permissions recovered_from setup_intent',
    'saved_payment_method_options shipping_address_collection shipping_cost subscription',
    'wallet_options',
  ),
  object: 'checkout.session',
  automatic_tax: { enabled: false, ...nulls('liability provider status') },
  custom_fields: [] as never[],
  custom_text: nulls('after_submit shipping_address submit terms_of_service_acceptance'),
  livemode: false,
  mode: 'payment',
  payment_method_collection: 'if_required',
  payment_method_options: {},
  shipping_options: [] as never[],
  total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
  ui_mode: 'hosted_page',
} as const

export type CheckoutSession = Base &
  typeof CHECKOUT_SESSION &
  Numbers<'amount_subtotal' | 'amount_total' | 'expires_at'> &
  Texts<'currency' | 'success_url'> &
  NullableTexts<'cancel_url' | 'client_reference_id' | 'customer' | 'customer_creation'> &
  NullableTexts<'customer_email' | 'locale' | 'payment_intent' | 'submit_type' | 'url'> & {
    customer_details: (typeof CUSTOMER_DETAILS & NullableTexts<'email' | 'name'>) | null
    metadata: Metadata
    payment_method_types: string[]
    payment_status: 'unpaid' | 'paid' | 'no_payment_required'
    status: 'open' | 'complete' | 'expired'
  }

export const CUSTOMER_DETAILS = nulls(
  'address business_name individual_name phone tax_exempt tax_ids',
)

export const LINE_ITEM = {
  object: 'item',
  adjustable_quantity: null,
  amount_discount: 0,
  amount_tax: 0,
  metadata: {},
} as const

export const PRICE = {
  ...nulls('custom_unit_amount lookup_key nickname recurring tax_behavior tiers_mode'),
  object: 'price',
  active: false,
  billing_scheme: 'per_unit',
  livemode: false,
  metadata: {},
  transform_quantity: null,
  type: 'one_time',
} as const

export type LineItem = typeof LINE_ITEM &
  Texts<'id' | 'currency' | 'description'> &
  Numbers<'amount_subtotal' | 'amount_total' | 'quantity'> & {
    price: Base &
      typeof PRICE &
      Texts<'currency' | 'product' | 'unit_amount_decimal'> & { unit_amount: number }
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

/** What is stored with an object and never shown. */
export type Hidden = {
  /**
   * Members for the payment intent, which a session gets only when the customer first tries to pay; and
   * the trace of the request that created the session, which its events continue.
   */
  'checkout.session': Partial<Texts<'description' | 'receipt_email' | 'statement_descriptor'>> & {
    metadata?: Metadata
    traceparent?: string
  }
  /** The second secret signs while the first is being replaced. */
  webhook_endpoint: Texts<'secret' | 'secondSecret'>
}

export type Kind = keyof ObjectKinds

export type ProviderObject = ObjectKinds[Kind]
