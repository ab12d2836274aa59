import type { IdentityApi, TokenPair } from '@plinth/client'
import { signal } from '@preact/signals'
import { type Api, createApi, problemIn, type Reply } from '../../shared/api/api.ts'

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

const identity = createApi<IdentityApi.Replies>({ headers: () => ({}), below: '/identity' })

const credentials = {
  headers: (): Record<string, string> =>
    tokens ? { Authorization: `Bearer ${tokens.accessToken}` } : {},
  renew: async () => {
    if (!tokens) return false
    const { refreshToken } = tokens
    const reply = await identity.post('/api/auth/refresh', { json: { refreshToken } })
    if (reply.ok) tokens = reply.body
    else signOut()
    return reply.ok
  },
}

type OfLauncher = { 'GET /api/home': Figures; 'GET /api/requests': RecentRequest[] }

const api = createApi<OfLauncher>(credentials)

/** The service below this path, which is asked with the token of the caller. */
export function serviceAt<Replies>(below: string): Api<Replies> {
  return createApi<Replies>({ ...credentials, below })
}

export async function signIn(values: Record<string, string>): Promise<Reply | undefined> {
  const step = mfaToken.value
  const { code = '' } = values
  const proof = /[a-z]/i.test(code) ? { recoveryCode: code } : { code }
  const reply = step
    ? await identity.post('/api/auth/mfa', { json: { mfaToken: step, ...proof } })
    : await identity.post('/api/auth/login', { json: values })
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
    void serviceAt<IdentityApi.Replies>('/identity').post('/api/auth/logout', {
      json: { refreshToken },
      once: true,
    })
  }
  tokens = undefined
  isSignedIn.value = false
  figures.value = undefined
  requests.value = []
}

export async function read(): Promise<Reply<Figures>> {
  const [home, recent] = await Promise.all([
    api.get('/api/home', { silent: true }),
    api.get('/api/requests', { silent: true }),
  ])
  if (home.ok) figures.value = home.body
  if (recent.ok) requests.value = recent.body
  return home
}
