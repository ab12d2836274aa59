import { createHash, randomBytes } from 'node:crypto'
import { JSON_TYPE, logIn } from './service.ts'

const CALLBACK = 'https://app.example/callback'
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }

type Server = { url: string }
type Pair = { accessToken: string; refreshToken: string }
type Tokens = { access_token: string; refresh_token: string }
type Credentials = { username: string; password: string }

/** A first-party client, and a browser that this user is signed in to. */
export async function openClient(server: Server, credentials: Credentials, clientId = '') {
  const { url } = server
  const pair = await signIn(server, credentials)
  const client = await (clientId === '' ? register(url, pair) : renewSecret(url, pair, clientId))
  const verifier = randomBytes(32).toString('base64url')
  const addressFor = (scope: string) =>
    `${url}/oauth2/authorize?${new URLSearchParams({
      client_id: client.clientId,
      redirect_uri: CALLBACK,
      response_type: 'code',
      scope,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })}`
  const cookie = await signInBrowser(server, credentials, addressFor('openid'))

  const tokens = (fields: Record<string, string>) => {
    const secret = { client_id: client.clientId, client_secret: client.clientSecret }
    const body = new URLSearchParams({ ...secret, ...fields }).toString()
    return json<Tokens>(`${url}/oauth2/token`, { method: 'POST', headers: FORM_TYPE, body })
  }
  return {
    authorize: async (scope = 'openid profile email') => {
      const reply = await fetch(addressFor(scope), { redirect: 'manual', headers: { cookie } })
      await reply.arrayBuffer()
      const code = new URL(reply.headers.get('location') ?? 'none:').searchParams.get('code')
      if (code === null) throw new Error(`Authorize was answered ${reply.status}.`)
      return code
    },
    exchange: (code: string) => {
      const grant = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK }
      return tokens({ ...grant, code_verifier: verifier })
    },
    refresh: (token: string) => tokens({ grant_type: 'refresh_token', refresh_token: token }),
    userInfo: (token: string) => json(`${url}/oauth2/userinfo`, { headers: bearer(token) }),
    me: () => json(`${url}/api/users/me`, { headers: bearer(pair.accessToken) }),
  }
}

export type Client = Awaited<ReturnType<typeof openClient>>

export async function signIn(server: Server, credentials: Credentials): Promise<Pair> {
  return (await (await logIn(server, credentials)).json()) as Pair
}

export function refreshLogin({ url }: Server, refreshToken: string): Promise<Pair> {
  const body = JSON.stringify({ refreshToken })
  return json(`${url}/api/auth/refresh`, { method: 'POST', headers: JSON_TYPE, body })
}

type Registered = { clientId: string; clientSecret: string }

function register(url: string, pair: Pair): Promise<Registered> {
  const body = JSON.stringify({ name: 'bench', redirectUris: [CALLBACK], firstParty: true })
  const headers = { ...JSON_TYPE, ...bearer(pair.accessToken) }
  return json(`${url}/api/clients`, { method: 'POST', headers, body })
}

async function renewSecret(url: string, pair: Pair, clientId: string): Promise<Registered> {
  const headers = { ...JSON_TYPE, ...bearer(pair.accessToken) }
  const address = `${url}/api/clients/${clientId}/rotate-secret`
  const reply = await json<Registered>(address, { method: 'POST', headers, body: '{}' })
  return { ...reply, clientId }
}

/** Returns the cookie. */
async function signInBrowser(server: Server, credentials: Credentials, address: string) {
  const asked = await fetch(address, { redirect: 'manual' })
  const id = new URL(asked.headers.get('location') ?? 'none:').searchParams.get('authorization')
  const { accessToken, refreshToken } = await signIn(server, credentials)
  const reply = await fetch(`${server.url}/api/authorizations/${id}`, {
    method: 'POST',
    headers: { ...JSON_TYPE, ...bearer(accessToken), cookie: cookieIn(asked) },
    body: JSON.stringify({ action: 'sign-in', refreshToken, remember: true }),
  })
  if (!reply.ok) throw new Error(`The sign-in was answered ${reply.status}.`)
  return cookieIn(reply)
}

const cookieIn = (reply: Response) => reply.headers.get('set-cookie')?.split(';')[0] ?? ''

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

async function json<Body>(address: string, init: RequestInit): Promise<Body> {
  const reply = await fetch(address, init)
  if (!reply.ok) throw new Error(`${address} was answered ${reply.status}: ${await reply.text()}`)
  return (await reply.json()) as Body
}
