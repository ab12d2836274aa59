import type { PaymentProvider } from '../provider.ts'
import { createStripeCalls } from './calls.ts'
import { checkDelivery, DELIVERIES, readDelivery } from './deliveries.ts'
import { readEvent } from './events.ts'
import type { StripeSettings } from './settings.ts'

export function openStripe(settings: StripeSettings): PaymentProvider {
  const { secretKey, webhookSecrets: secrets } = settings
  const liveMode = liveModeOf(secretKey)
  return {
    calls: secretKey ? createStripeCalls({ ...settings, secretKey, liveMode }) : undefined,
    deliveries: DELIVERIES,
    checkDelivery: (headers) => checkDelivery(headers, secrets),
    readDelivery: (bytes, headers, now) => readDelivery(bytes, headers, { secrets, liveMode, now }),
    readStored: (body) => readEvent(JSON.parse(body), liveMode),
  }
}

/** Whether the credential moves real money; undefined when it does not reveal it. */
function liveModeOf(secretKey = ''): boolean | undefined {
  const mode = /^[sr]k_(test|live)_/.exec(secretKey)?.[1]
  return mode === undefined ? undefined : mode === 'live'
}
