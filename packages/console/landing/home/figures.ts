import type { TokenPair } from '@plinth/client'
import { signal } from '@preact/signals'
import { createApi, problemIn, type Reply } from '../../shared/api/api.ts'

export type Interval = {
  at: number
  storedBytes: number | null
  signIns: number
  newUsers: number
  payments: number
  refunds: number
  failedWebhooks: number
}

export type Health = { service: string; title: string; status: string; reason?: string }

export type Figures = {
  startedAt: number
  everySeconds: number
  intervals: Interval[]
  health: Health[]
}

export type RecentRequest = {
  service: string
  at: number
  method: string
  route?: string
  status: number
  milliseconds: number
  who?: string
  requestId: string
}

/** Kept in the memory of this page only. */
let tokens: TokenPair | undefined

export const isSignedIn = signal(false)
export const figures = signal<Figures | undefined>(undefined)
export const requests = signal<RecentRequest[]>([])
/** The sign-in that has passed the password and waits for the second factor. */
export const mfaToken = signal<string | undefined>(undefined)

/** Identity answers below this address, too. */
const IDENTITY = '/identity'

export const api = createApi({
  headers: (): Record<string, string> =>
    tokens ? { Authorization: `Bearer ${tokens.accessToken}` } : {},
  renew: async () => {
    if (!tokens) return false
    const { refreshToken } = tokens
    const reply = await open.post<TokenPair>(`${IDENTITY}/api/auth/refresh`, { refreshToken })
    if (reply.ok) tokens = reply.body
    else signOut()
    return reply.ok
  },
})

const open = createApi({ headers: () => ({}) })

export async function signIn(values: Record<string, string>): Promise<Reply | undefined> {
  const step = mfaToken.value
  const { code = '' } = values
  const proof = /[a-z]/i.test(code) ? { recoveryCode: code } : { code }
  const reply = step
    ? await open.post<TokenPair>(`${IDENTITY}/api/auth/mfa`, { mfaToken: step, ...proof })
    : await open.post<TokenPair>(`${IDENTITY}/api/auth/login`, values)
  mfaToken.value = problemIn(reply)?.mfaToken ?? (problemIn(reply)?.triesLeft ? step : undefined)
  if (!reply.ok) return mfaToken.value && !step ? undefined : reply
  tokens = reply.body
  const shown = await read()
  if (shown.ok) isSignedIn.value = true
  else tokens = undefined
  return shown
}

export function signOut(): void {
  if (tokens) {
    const { refreshToken } = tokens
    void api.post(`${IDENTITY}/api/auth/logout`, { refreshToken }, { once: true })
  }
  tokens = undefined
  isSignedIn.value = false
  figures.value = undefined
  requests.value = []
}

export async function read(): Promise<Reply<Figures>> {
  const [home, recent] = await Promise.all([
    api.get<Figures>('/api/home', { silent: true }),
    api.get<RecentRequest[]>('/api/requests', { silent: true }),
  ])
  if (home.ok) figures.value = home.body
  if (recent.ok) requests.value = recent.body
  return home
}
