import type { PaymentProvider } from '../provider.ts'
import { createStripeCalls } from './calls.ts'
import { checkDelivery, DELIVERIES, readDelivery } from './deliveries.ts'
import { readEvent } from './events.ts'
import type { StripeSettings } from './settings.ts'

export function openStripe(settings: StripeSettings): PaymentProvider {
  const { secretKey, liveMode, webhookSecrets: secrets } = settings
  return {
    calls: secretKey ? createStripeCalls({ ...settings, secretKey }) : undefined,
    deliveries: DELIVERIES,
    checkDelivery: (headers) => checkDelivery(headers, secrets),
    readDelivery: (bytes, headers, now) => readDelivery(bytes, headers, { secrets, liveMode, now }),
    readStored: (body) => readEvent(JSON.parse(body), liveMode),
  }
}
