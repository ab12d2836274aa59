import { signal } from '@preact/signals'
import { createApi } from '../shared/api/api.ts'

let accessToken: string | undefined

/** As shipped the endpoints ask for nothing; others answer 401 without a token or a key. */
export const tokenRequired = signal(false)

export const api = createApi({
  headers: (): Record<string, string> =>
    accessToken ? { Authorization: `Bearer ${accessToken}` } : {},
  renew: async () => {
    tokenRequired.value = true
    return false
  },
})

/** The token stays in this closure: the field it was pasted into is emptied. */
export function takeToken(token: string): void {
  accessToken = token || undefined
  tokenRequired.value = false
}

/** A random reference, short enough to read aloud. */
export function newReference(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(4))
  return `${prefix}-${[...bytes].map((byte) => byte.toString(36).padStart(2, '0')).join('')}`
}
