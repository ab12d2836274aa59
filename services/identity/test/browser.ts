import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { Api } from '@plinth/kit/testing'
import { ALICE, adminToken } from './start-identity.ts'

export const CALLBACK = 'https://wiki.example/callback'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

export type Registered = { clientId: string; clientSecret: string | null }

/** A client, registered by the administrator; a confidential one of a third party unless told otherwise. */
export async function registerClient(api: Api, more: object = {}): Promise<Registered> {
  const token = await adminToken(api)
  const client = { name: 'Wiki', redirectUris: [CALLBACK], ...more }
  const { status, body } = await api.post('/api/clients', client, { token })
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

export function newProof() {
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return { verifier, challenge }
}

export const SCOPE = 'openid profile email offline_access'

/** The parameters of an authorization request that has nothing wrong with it. */
export function requestOf({ clientId }: Pick<Registered, 'clientId'>, more: Fields = {}) {
  const { verifier, challenge } = newProof()
  const parameters: Fields = {
    client_id: clientId,
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: SCOPE,
    state: 'some state',
    nonce: 'some nonce',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  }
  return { parameters, verifier }
}

export type Fields = Record<string, string>

/** A browser: it keeps the cookie, and follows nothing by itself. */
export function openBrowser(api: Api) {
  let cookie: string | undefined

  const headers = (): Fields => (cookie === undefined ? {} : { cookie })
  const keep = (reply: { headers: Headers }) => {
    const [pair] = reply.headers.get('set-cookie')?.split(';') ?? []
    if (pair?.includes('plinth-sso=')) cookie = pair
  }

  async function open(path: string) {
    const reply = await api.get(path, { headers: headers() })
    keep(reply)
    return reply
  }

  return {
    get cookie() {
      return cookie
    },
    setCookie: (value: string | undefined) => {
      cookie = value
    },
    open,
    /** Returns where the browser is sent. */
    authorize: async (parameters: Fields) => {
      const reply = await open(`/oauth2/authorize?${new URLSearchParams(parameters)}`)
      return { reply, ...whereTo(reply) }
    },
    show: (id: string) => open(`/api/authorizations/${id}`),
    decide: async (id: string, body: object, token?: string) => {
      const options = { headers: headers(), ...(token !== undefined && { token }) }
      const reply = await api.post(`/api/authorizations/${id}`, body, options)
      keep(reply)
      return reply
    },
  }
}

export type Browser = ReturnType<typeof openBrowser>

function whereTo(reply: { headers: Headers }) {
  const location = reply.headers.get('location') ?? ''
  const query = new URL(location || 'none:').searchParams
  return { location, query, id: query.get('authorization') ?? '', code: query.get('code') ?? '' }
}

/** Signs alice, or somebody else, in for a request. */
export async function signIn(
  api: Api,
  browser: Browser,
  id: string,
  { remember = false, as = ALICE }: { remember?: boolean; as?: object | undefined } = {},
) {
  const { body: pair } = await api.post('/api/auth/login', as)
  const { refreshToken } = pair
  return browser.decide(id, { action: 'sign-in', refreshToken, remember }, pair.accessToken)
}

export function tokenRequest(api: Api, fields: Fields, { clientId, clientSecret }: Registered) {
  const credentials: Fields = clientSecret === null ? {} : { client_secret: clientSecret }
  const form = { client_id: clientId, ...credentials, ...fields }
  return formRequest(api, '/oauth2/token', form)
}

export function formRequest(api: Api, path: string, fields: Fields, headers: Fields = {}) {
  const body = new URLSearchParams(fields).toString()
  return api.request('POST', path, { body, headers: { ...FORM, ...headers } })
}

type Visit = { browser?: Browser; parameters?: Fields; as?: object | undefined }

/** The code of a client whose user signs in and allows everything. */
export async function obtainCode(
  api: Api,
  client: Registered,
  { browser = openBrowser(api), as, ...more }: Visit = {},
) {
  const { parameters, verifier } = requestOf(client, more.parameters)
  const asked = await browser.authorize(parameters)
  const code = asked.code || (await decided(api, browser, asked.id, as))
  const exchange = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: parameters.redirect_uri ?? '',
    code_verifier: verifier,
  }
  return { code, verifier, browser, exchange }
}

async function decided(api: Api, browser: Browser, id: string, as?: object): Promise<string> {
  const first = await browser.show(id)
  const signedIn = first.body.step === 'sign-in' ? await signIn(api, browser, id, { as }) : first
  assert.equal(signedIn.status, 200, JSON.stringify(signedIn.body))
  const last =
    signedIn.body.step === 'consent' ? await browser.decide(id, { action: 'allow' }) : signedIn
  assert.equal(last.body.step, 'done', JSON.stringify(last.body))
  return new URL(last.body.redirectTo).searchParams.get('code') ?? ''
}

/** The tokens of a client whose user signs in and allows everything. */
export async function obtainTokens(api: Api, client: Registered, options: Visit = {}) {
  const { exchange, browser } = await obtainCode(api, client, options)
  const { status, body } = await tokenRequest(api, exchange, client)
  assert.equal(status, 200, JSON.stringify(body))
  return { browser, ...(body as Tokens), exchange }
}

export type Tokens = {
  access_token: string
  refresh_token: string
  id_token: string
  scope: string
  expires_in: number
}

export function refreshWith(api: Api, client: Registered, token: string, more: Fields = {}) {
  const fields = { grant_type: 'refresh_token', refresh_token: token, ...more }
  return tokenRequest(api, fields, client)
}

export function claimsIn(token: string) {
  const [, payload = ''] = token.split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
}
