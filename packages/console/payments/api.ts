import { computed, signal } from '@preact/signals'
import { createSession } from '../shared/account/session/session.ts'
import { createApi } from '../shared/api/api.ts'
import { facts } from '../shared/shell/facts.ts'

/** The sign-in of Identity, if this service accepts its accounts: it has none of its own. */
export const session = createSession({ renewsItself: true })

let given: string | undefined

/** Whether calls use a token or a key that was typed in instead of the sign-in. */
export const usesGiven = signal(false)

/** Incremented with each one typed in, so that data read with the previous one is reloaded. */
export const timesGiven = signal(0)

/** The service has refused a call that had no valid token or key. */
export const wasRefused = signal(false)

const headers = () => (given ? { Authorization: `Bearer ${given}` } : session.api.credentials())
const renew = async () => given === undefined && (await session.renew())

/** For service keys, which always require credentials: their 401 says nothing about the other calls. */
export const keysApi = createApi({ headers, renew })

export const api = createApi({
  headers,
  renew: async () => {
    const isRenewed = await renew()
    wasRefused.value = !isRenewed
    return isRenewed
  },
})

/** The token stays in this module: the field it was pasted into is cleared. */
export function callWith(token: string): void {
  given = token || undefined
  usesGiven.value = given !== undefined
  timesGiven.value += 1
  wasRefused.value = false
}

const who = computed(() => session.claims.value?.sub)
who.subscribe(() => callWith(''))

/** By default the endpoints require nothing; otherwise they answer 401 without a token or a key. */
export const mayCall = computed(
  () => (facts.value.access ?? 'open') === 'open' || usesGiven.value || who.value !== undefined,
)

/** A random reference, short enough to read aloud. */
export function newReference(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(4))
  return `${prefix}-${[...bytes].map((byte) => byte.toString(36).padStart(2, '0')).join('')}`
}
