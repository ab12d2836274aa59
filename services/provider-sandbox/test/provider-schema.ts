import type Stripe from 'stripe'
import type * as kinds from '../src/state/objects/kinds.ts'
import type * as money from '../src/state/objects/money.ts'

/** Compiles only if `Sent` has every member that the provider's schema requires, with the right type. */
type Complete<Required, Sent extends Omit<Required, 'lastResponse'>> = [Required, Sent]

/** The reply has this decimal as text, which the client turns into a number type of its own. */
type WithoutDecimal<T> = Omit<T, 'unit_amount_decimal'>

type Item = kinds.LineItem

export type ProviderSchema = [
  Complete<Stripe.Customer, kinds.Customer>,
  Complete<Stripe.DeletedCustomer, kinds.DeletedCustomer>,
  Complete<Stripe.Checkout.Session, kinds.CheckoutSession>,
  Complete<Omit<Stripe.LineItem, 'price'>, Item>,
  Complete<WithoutDecimal<Stripe.Price>, Item['price']>,
  Complete<Stripe.PaymentIntent, money.PaymentIntent>,
  Complete<Stripe.Charge, money.Charge>,
  Complete<Stripe.Refund, money.Refund>,
  Complete<Stripe.BalanceTransaction, money.BalanceTransaction>,
  Complete<Stripe.WebhookEndpoint, kinds.WebhookEndpoint>,
  Complete<Omit<Stripe.Event, 'data' | 'type'>, kinds.Event>,
]
