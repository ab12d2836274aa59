import {
  type Base,
  type Metadata,
  type NullableTexts,
  type Numbers,
  nulls,
  type Texts,
} from './members.ts'

export type PaymentError = { type: string; code: string; decline_code?: string; message: string }

export const PAYMENT_INTENT = {
  ...nulls(
    'allowed_payment_method_types application application_fee_amount automatic_payment_methods',
    'customer_account excluded_payment_method_types managed_payments on_behalf_of',
    'payment_method_configuration_details payment_method_options payment_record processing',
    'review setup_future_usage shipping source statement_descriptor_suffix transfer_group',
  ),
  object: 'payment_intent',
  amount_capturable: 0,
  capture_method: 'automatic_async',
  confirmation_method: 'automatic',
  livemode: false,
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
    next_action: {
      type: 'redirect_to_url'
      redirect_to_url: { url: string; return_url: null }
    } | null
    payment_method_types: string[]
    status: 'requires_payment_method' | 'requires_action' | 'processing' | 'succeeded' | 'canceled'
  }

export const CARD = nulls(
  'amount_authorized authorization_code checks electronic_commerce_indicator installments mandate',
  'network network_transaction_id regulated_status three_d_secure transaction_link_id wallet',
)

export const BANK_ACCOUNT = nulls(
  'account_holder_type account_type fingerprint payment_reference routing_number',
)

export type PaymentMethodDetails =
  | {
      type: 'card'
      card: typeof CARD &
        Texts<'brand' | 'country' | 'funding' | 'last4'> &
        Numbers<'exp_month' | 'exp_year'>
    }
  | { type: 'us_bank_account'; us_bank_account: typeof BANK_ACCOUNT & Texts<'bank_name' | 'last4'> }

export const CHARGE = {
  ...nulls(
    'application application_fee application_fee_amount calculated_statement_descriptor',
    'failure_balance_transaction fraud_details on_behalf_of receipt_number receipt_url review',
    'shipping source source_transfer statement_descriptor statement_descriptor_suffix',
    'transfer_data transfer_group',
  ),
  object: 'charge',
  disputed: false,
  livemode: false,
} as const

export const OUTCOME = nulls('advice_code network_advice_code network_decline_code seller_message')

export type Charge = Base &
  typeof CHARGE &
  Numbers<'amount' | 'amount_captured' | 'amount_refunded'> &
  Texts<'currency' | 'payment_intent' | 'payment_method'> &
  NullableTexts<'balance_transaction' | 'customer' | 'description' | 'failure_code'> &
  NullableTexts<'failure_message' | 'receipt_email'> & {
    billing_details: Record<'address' | 'name' | 'phone' | 'tax_id', null> & NullableTexts<'email'>
    captured: boolean
    metadata: Metadata
    outcome: (typeof OUTCOME & Texts<'network_status' | 'type'> & { reason: string | null }) | null
    paid: boolean
    payment_method_details: PaymentMethodDetails
    refunded: boolean
    status: 'succeeded' | 'pending' | 'failed'
  }

export const REFUND = {
  ...nulls('customer_account receipt_number source_transfer_reversal transfer_reversal'),
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
  ...nulls('description exchange_rate'),
  object: 'balance_transaction',
  balance_type: 'payments',
  fee: 0,
  fee_details: [] as never[],
  status: 'available',
} as const

export type BalanceTransaction = Base &
  typeof BALANCE_TRANSACTION &
  Numbers<'amount' | 'available_on' | 'net'> &
  Texts<'currency' | 'reporting_category' | 'source'> & {
    type: 'charge' | 'payment' | 'refund' | 'refund_failure'
  }
