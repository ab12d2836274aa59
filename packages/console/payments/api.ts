import type { PaymentsApi } from '@plinth/client'
import { computed, signal } from '@preact/signals'
import { prove } from '../shared/account/session/proving.ts'
import { createSession } from '../shared/account/session/session.ts'
import { createApi } from '../shared/api/api.ts'
import type { AccountReplies } from '../shared/api/shared-operations.ts'
import { facts } from '../shared/shell/facts.ts'

/** A sign-in at the issuer; what was typed in comes before it. */
export const session = createSession<AccountReplies>({ renewsItself: true })

/** The token or key that was typed in. It stays in this module: the field is cleared. */
let given: string | undefined

export const usesGiven = signal(false)

/** Incremented with each one typed in, so that data read with the previous one is reloaded. */
export const timesGiven = signal(0)

/** The service has refused a call that had no valid token or key. */
export const wasRefused = signal(false)

const headers = (): Record<string, string> =>
  given ? { Authorization: `Bearer ${given}` } : session.api.credentials()

/** What was typed in is replaced on the Access page; the refusal says that it is too old. */
const proveSignIn = async () => given === undefined && prove()

/** For service keys, which always require credentials: their 401 says nothing about the other calls. */
export const keysApi = createApi<PaymentsApi.Replies>({
  headers,
  renew: async () => given === undefined && session.renew(),
  prove: proveSignIn,
})

/** The service reports its provider in a file next to its console. */
type Files = { 'GET /api-test/provider.json': { sandboxUrl: string | null } }

export const api = createApi<PaymentsApi.Replies & Files>({
  headers,
  renew: async () => {
    const isRenewed = given === undefined && (await session.renew())
    if (!isRenewed) wasRefused.value = true
    return isRenewed
  },
  prove: proveSignIn,
})

export function callWith(token: string): void {
  given = token || undefined
  usesGiven.value = given !== undefined
  timesGiven.value += 1
  wasRefused.value = false
}

/** Whether calls say who makes them. */
export const identifies = computed(() => usesGiven.value || session.claims.value !== undefined)

/** By default the endpoints require nothing; otherwise they answer 401 without a token or a key. */
export const mayCall = computed(() => (facts.value.access ?? 'open') === 'open' || identifies.value)

/** A random reference, short enough to read aloud. */
export function newReference(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(4))
  return `${prefix}-${[...bytes].map((byte) => byte.toString(36).padStart(2, '0')).join('')}`
}
