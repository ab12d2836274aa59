import type { TokenPair } from '@plinth/client'
import type { Reply } from '../../../api/api.ts'
import { baseUrl } from '../../../api/base-url.ts'
import { challengeOf, randomText } from './proof-key.ts'

/** Where the provider of this console answers. */
export type Endpoints = { authorize: string; token: string; logout: string; userInfo: string }

/** Tokens of the code flow; the ID token only proves to the provider who signs out. */
type Granted = { pair: TokenPair; idToken: string; endpoints: Endpoints }

/** What outlives the navigation. None of it opens anything without the code, which is valid once. */
type Request = { state: string; verifier: string; place: string; endpoints: Endpoints }

type TokenReply = {
  access_token: string
  expires_in: number
  refresh_token?: string
  id_token?: string
}

const CLIENT_ID = 'plinth-console'
const SCOPE = 'openid profile email roles'
const REDIRECT_URI = `${baseUrl}/api-test/index.html`

const REQUEST = `plinth-request ${baseUrl}`
/** Set in a tab that was signed in: such a tab may ask for new tokens after a reload. */
const SIGNED_IN = `plinth-signed-in ${baseUrl}`

/** Leaves for the provider, which sends the browser back to this console; `again` asks even a user who is signed in. */
export async function leave(
  endpoints: Endpoints,
  { silently = false, again = false } = {},
): Promise<void> {
  const [state, verifier] = [randomText(), randomText()]
  const request: Request = { state, verifier, place: placeHere(), endpoints }
  sessionStorage.setItem(REQUEST, JSON.stringify(request))
  const query = new URLSearchParams({
    client_id: CLIENT_ID,
    response_type: 'code',
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    state,
    code_challenge: await challengeOf(verifier),
    code_challenge_method: 'S256',
    ...(silently && { prompt: 'none' }),
    ...(again && { prompt: 'login' }),
  })
  const address = `${endpoints.authorize}?${query}`
  if (silently) location.replace(address)
  else location.assign(address)
}

const placeHere = () => location.search + location.hash

type Return = { granted?: Granted; refusal?: string; isLeaving?: boolean }

/**
 * Called once, when the page opens. It redeems the code that the provider has sent, or leaves to get new tokens
 * without a question if this tab was signed in before. The mark of such a tab is set again only by new tokens, so
 * a refusal never becomes a loop.
 */
export async function comeBack(): Promise<Return> {
  const signedInAt = takeSignedIn()
  const answer = new URLSearchParams(location.search)
  const [state, code, error] = ['state', 'code', 'error'].map((name) => answer.get(name))
  if (state && (code || error)) {
    const request = takeRequest(state)
    if (request && code) return redeem(code, request)
    return request && error && !EXPECTED.includes(error) ? { refusal: error } : {}
  }
  if (!signedInAt) return {}
  await leave(signedInAt, { silently: true })
  return { isLeaving: true }
}

/** The session has ended, or the user has decided not to sign in: the sign-in form says enough. */
const EXPECTED = ['login_required', 'interaction_required', 'access_denied']

function takeSignedIn(): Endpoints | undefined {
  const kept = sessionStorage.getItem(SIGNED_IN)
  sessionStorage.removeItem(SIGNED_IN)
  return kept === null ? undefined : JSON.parse(kept)
}

/** Also takes the code out of the address, so that no reload, bookmark or history entry has it. */
function takeRequest(state: string): Request | undefined {
  const kept = sessionStorage.getItem(REQUEST)
  sessionStorage.removeItem(REQUEST)
  const request: Request | undefined = kept === null ? undefined : JSON.parse(kept)
  const isOurs = request?.state === state
  history.replaceState(null, '', REDIRECT_URI + (isOurs ? request.place : ''))
  // The browser announces only changes of the fragment that it makes itself.
  dispatchEvent(new HashChangeEvent('hashchange'))
  return isOurs ? request : undefined
}

async function redeem(code: string, { verifier, endpoints }: Request): Promise<Return> {
  const reply = await askForTokens(endpoints, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
  })
  if (!reply.ok) return { refusal: reply.body?.code ?? 'no answer' }
  sessionStorage.setItem(SIGNED_IN, JSON.stringify(endpoints))
  return { granted: { ...reply.body, endpoints } }
}

/** The pair of a refresh. */
export async function renew(endpoints: Endpoints, refreshToken: string): Promise<Reply<TokenPair>> {
  const fields = { grant_type: 'refresh_token', refresh_token: refreshToken }
  const reply = await askForTokens(endpoints, fields)
  return reply.ok ? { ...reply, body: reply.body.pair } : reply
}

/** Ends the session of the browser at the provider, and with it those of all consoles that it signed in to. */
export async function signOut({ endpoints, idToken }: Granted): Promise<Reply> {
  forgetTab()
  const query = new URLSearchParams({
    client_id: CLIENT_ID,
    id_token_hint: idToken,
    post_logout_redirect_uri: REDIRECT_URI,
  })
  location.assign(`${endpoints.logout}?${query}`)
  return { ok: true, status: 204, headers: {}, content: new Blob(), body: undefined }
}

/** From now on a reload shows the form. */
export function forgetTab(): void {
  sessionStorage.removeItem(SIGNED_IN)
}

/** Whether the provider has ended the session that these credentials belong to. */
export async function hasEnded(
  { userInfo }: Endpoints,
  headers: Record<string, string>,
): Promise<boolean> {
  // Without an answer, nothing is known.
  const reply = await fetch(userInfo, { headers, credentials: 'omit' }).catch(() => undefined)
  return reply?.status === 401
}

async function askForTokens(
  { token }: Endpoints,
  fields: Record<string, string>,
): Promise<Reply<Omit<Granted, 'endpoints'>>> {
  const reply = await send(token, { client_id: CLIENT_ID, ...fields })
  return reply.ok ? { ...reply, body: grantedBy(reply.body) } : reply
}

async function send(address: string, fields: Record<string, string>): Promise<Reply<TokenReply>> {
  const [headers, content] = [{}, new Blob()]
  try {
    const body = new URLSearchParams(fields)
    const reply = await fetch(address, { method: 'POST', body, credentials: 'omit' })
    const { status } = reply
    const json = JSON.parse((await reply.text()) || 'null')
    if (reply.ok) return { ok: true, status, headers, content, body: json }
    return { ok: false, status, headers, content, body: { code: json?.error } }
  } catch {
    // As everywhere in the console, status 0 means that there was no answer.
    return { ok: false, status: 0, headers, content, body: undefined }
  }
}

function grantedBy(reply: TokenReply): Omit<Granted, 'endpoints'> {
  return {
    idToken: reply.id_token ?? '',
    pair: {
      accessToken: reply.access_token,
      refreshToken: reply.refresh_token ?? '',
      tokenType: 'Bearer',
      expiresInSeconds: reply.expires_in,
      // It ends with the session of the browser, which only the provider knows.
      refreshTokenExpiresInSeconds: 0,
    },
  }
}
