/** The provider of this service. Another one is a folder beside `stripe`, and these two lines. */
export { stripeSettings as providerSettings } from './stripe/settings.ts'
export { openStripe as openProvider } from './stripe/stripe.ts'
