import type { IdentityApi, TokenPair } from '@plinth/client'
import { computed, signal } from '@preact/signals'
import { type Api, createApi, problemIn, type Reply } from '../../api/api.ts'
import { publicValues } from '../../api/concealment.ts'
import type { AccountReplies } from '../../api/shared-operations.ts'
import { copyText } from '../../components/code.tsx'
import { isAdmin } from '../../shell/administrator.ts'
import { ADMIN_ROLE } from '../../wording.ts'
import { type Claims, claimsOf, type DecodedToken, decodeToken } from './tokens/decoded-token.ts'
import { createTokenVault } from './tokens/token-vault.ts'

export type Credentials = { username?: string; password?: string }

/** Of any service with accounts; `api` of a session has all operations of its service. */
export type Session = ReturnType<typeof createSession<AccountReplies>>

/** What the session itself calls. Only identity authorizes applications. */
type OwnReplies = AccountReplies &
  Pick<IdentityApi.Replies, 'POST /api/auth/mfa' | 'POST /api/authorizations/{id}'>

/** Where tokens come from: it also renews and ends them. */
type Source = {
  renew(refreshToken: string): Promise<Reply<TokenPair>>
  end(refreshToken: string): Promise<Reply>
}

type Options = {
  renewsItself: boolean
  /** Asks the user to reauthenticate, for a call that requires it; false if the user does not. */
  prove?(): Promise<boolean>
}

/** The sign-in state of one page. It exposes decoded values only, never a credential. */
export function createSession<Replies extends AccountReplies>({ renewsItself, prove }: Options) {
  const decoded = signal<DecodedToken | undefined>(undefined)
  const expiry = signal(expiryOf(undefined))
  const automatic = signal(renewsItself)
  const [rotations, hasSpentToken] = [signal(0), signal(false)]
  const { secondStep, stepRefusal, keepStep, endStep, stepWith } = createSecondStep()
  const claims = computed<Claims | undefined>(() => decoded.value && claimsOf(decoded.value))

  const vault = createTokenVault(postRefresh, show)
  // A reply that took long arrives with less than its lifetime left, which only `exp` tells.
  const expired = () =>
    claims.value && Math.min(expiry.value.access, claims.value.exp * 1000) <= Date.now()
  const renew = async () => Boolean(automatic.value && expired()) && vault.refresh()
  const credentials = { headers: () => bearer(vault.accessToken()), renew, prove }
  const api = createApi<Replies>(credentials)
  const service = createApi<OwnReplies>(credentials)
  const own = sourceAt(service)
  const source = signal<Source>(own)

  function show(pair: TokenPair | undefined): void {
    decoded.value = pair && decodeToken(pair.accessToken)
    isAdmin.value = claims.value?.roles.includes(ADMIN_ROLE) ?? false
    hasSpentToken.value = vault.spentRefreshToken() !== undefined
    expiry.value = expiryOf(pair)
  }

  async function postRefresh(refreshToken: string): Promise<Reply<TokenPair>> {
    const reply = await source.value.renew(refreshToken)
    if (reply.ok) rotations.value += 1
    return reply
  }

  /** Removes the token pair from a reply, so that a page that keeps the reply does not keep a token. */
  function received(reply: Reply<TokenPair>): Reply {
    if (!reply.ok) return keepStep(reply)
    endStep()
    receivedFrom(own, reply.body)
    return { ...reply, body: undefined, content: new Blob() }
  }

  function receivedFrom(place: Source, pair: TokenPair): void {
    source.value = place
    vault.put(pair)
  }

  /** Undefined if the second factor comes next, which is no failure. */
  async function signIn({ username = '', password = '' }: Credentials) {
    const json = { username, password }
    notePublicValues(json)
    const reply = received(await service.post('/api/auth/login', { json, open: true }))
    return secondStep.value ? undefined : reply
  }

  return {
    ...{ api, decoded, claims, expiry, automatic, rotations, hasSpentToken },
    ...{ received, receivedFrom, signIn, secondStep, stepRefusal, renew },
    /** Whether the tokens come from the provider that this console signs in at. */
    isProvided: computed(() => source.value !== own),
    completeSignIn: async ({ code = '' }: { code?: string }) =>
      received(await service.post('/api/auth/mfa', { json: stepWith(code), open: true })),
    refresh: vault.refresh,
    logOut: () => vault.end(source.value.end),
    /** Without ending the session, which is over already. */
    forget: () => vault.put(undefined),
    /** Gives the session to an authorization: its refresh token then ends, as with a logout. */
    handOver: (id: string, decision: object) =>
      vault.end((refreshToken) =>
        service.post('/api/authorizations/{id}', {
          path: { id },
          json: { ...decision, refreshToken },
          once: true,
        }),
      ),
    isAdmin: computed(() => claims.value?.roles.includes(ADMIN_ROLE) ?? false),
    replaySpentToken: () => postRefresh(vault.spentRefreshToken() ?? ''),
    copyAccessToken: (button: HTMLElement) => copyText(vault.accessToken() ?? '', button),
  }
}

/** The endpoints of the service itself. */
function sourceAt(api: Api<AccountReplies>): Source {
  return {
    renew: (refreshToken) => api.post('/api/auth/refresh', { json: { refreshToken }, open: true }),
    end: (refreshToken) => api.post('/api/auth/logout', { json: { refreshToken }, once: true }),
  }
}

/** When tokens received now expire by the clock of the browser, which may differ from the service's. */
function expiryOf(pair: TokenPair | undefined): { access: number; refresh: number } {
  if (!pair) return { access: 0, refresh: 0 }
  const after = (seconds: number) => Date.now() + seconds * 1000
  return {
    access: after(pair.expiresInSeconds),
    refresh: after(pair.refreshTokenExpiresInSeconds),
  }
}

/** A sign-in that passed the first factor and waits for the second. Its token never leaves this closure. */
function createSecondStep() {
  const secondStep = signal(false)
  /** Why the second step is over, and the sign-in has to start again. */
  const stepRefusal = signal<Reply | undefined>(undefined)
  let mfaToken: string | undefined

  function endStep(refusal?: Reply): void {
    secondStep.value = false
    stepRefusal.value = refusal
  }

  function keepStep(reply: Reply): Reply {
    const problem = problemIn(reply)
    stepRefusal.value = undefined
    if (problem?.triesLeft === 0) endStep(reply)
    if (!problem?.mfaToken) return reply
    mfaToken = problem.mfaToken
    secondStep.value = true
    return { ...reply, body: { ...problem, mfaToken: undefined }, content: new Blob() }
  }

  /** An authenticator code has digits only; a recovery code has letters. */
  function stepWith(code: string): object {
    return /[a-z]/i.test(code) ? { mfaToken, recoveryCode: code } : { mfaToken, code }
  }

  return { secondStep, stepRefusal, keepStep, endStep, stepWith }
}

function bearer(accessToken: string | undefined): Record<string, string> {
  return accessToken ? { Authorization: `Bearer ${accessToken}` } : {}
}

// The seeded accounts of the default configuration, which the documentation lists, too.
export const DEMO_ACCOUNTS = [
  { username: 'user', password: 'password123123', about: 'a user' },
  { username: 'admin', password: 'password123123', about: 'an administrator' },
] as const

/** A copied command may contain the username, but a password only if it is public. */
function notePublicValues(given: { username: string; password: string }): void {
  const isDemo = DEMO_ACCOUNTS.some(({ password }) => password === given.password)
  delete publicValues.PASSWORD
  publicValues.USERNAME = given.username.replaceAll("'", '')
  if (isDemo) publicValues.PASSWORD = given.password
}
