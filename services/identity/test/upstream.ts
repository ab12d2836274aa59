import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import type { TestClock } from '@plinth/kit/testing'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

type Claims = Record<string, unknown>

export type Endpoint = 'discovery' | 'token' | 'keys' | 'userinfo' | 'emails'

type Reply = { status?: number; headers?: Record<string, string>; body?: unknown }

/** One provider on this machine, whose faults a test switches on. */
export type Faults = {
  /** Replaces or, with `undefined`, removes claims of the id token. */
  claims?: Claims
  signedWith?: 'another key' | 'none' | 'HS256' | 'the client secret'
  /** Replaces members of the discovery document. */
  document?: Claims
  /** What an endpoint answers instead. */
  answers?: Partial<Record<Endpoint, Reply>>
  /** Endpoints that take the request and say nothing. */
  hangs?: Endpoint[]
}

export type Person = { sub: string; email?: string; email_verified?: unknown } & Claims

const { privateKey, publicKey } = await generateKeyPair('RS256')
const stranger = await generateKeyPair('RS256')
const PUBLIC_JWK = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }

export const CLIENT_ID = 'client-of-plinth'
export const CLIENT_SECRET = 'a secret: with % and +'

type Asked = { nonce: string; challenge: string; redirectUri: string; person: Person }

/** `path` is that of the issuer. */
export async function startUpstream(t: TestContext, clock: TestClock, path = '') {
  const codes = new Map<string, Asked>()
  const seen: Person[] = []
  const requests: { endpoint: Endpoint; headers: IncomingMessage['headers']; body: string }[] = []
  const upstream = {
    faults: {} as Faults,
    /** The claims that userinfo has besides the subject. */
    userInfo: undefined as Claims | undefined,
    emails: [] as object[],
    requests,
    url: '',
    issuer: '',
    /** The person signs in and agrees; returns what the provider sends along with the browser. */
    agree(authorizationUrl: string, person: Person): URLSearchParams {
      const { searchParams: asked } = new URL(authorizationUrl)
      const code = randomUUID()
      codes.set(code, {
        nonce: asked.get('nonce') ?? '',
        challenge: asked.get('code_challenge') ?? '',
        redirectUri: asked.get('redirect_uri') ?? '',
        person,
      })
      return new URLSearchParams({ code, state: asked.get('state') ?? '' })
    },
  }
  const server = createServer((request, response) => {
    void serve(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  upstream.url = `http://127.0.0.1:${port}`
  upstream.issuer = `${upstream.url}${path}`

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const endpoint = endpointOf(request.url ?? '')
    requests.push({ endpoint, headers: request.headers, body })
    if (upstream.faults.hangs?.includes(endpoint)) return
    const usual = upstream.faults.answers?.[endpoint] ?? { body: await answer(endpoint, body) }
    const { status = 200, headers = {}, body: reply } = usual
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof reply === 'string' ? reply : JSON.stringify(reply ?? {}))
  }

  async function answer(endpoint: Endpoint, body: string): Promise<unknown> {
    if (endpoint === 'discovery') return { ...document(), ...upstream.faults.document }
    if (endpoint === 'keys') return { keys: [PUBLIC_JWK] }
    if (endpoint === 'token') return tokens(new URLSearchParams(body))
    if (endpoint === 'emails') return upstream.emails
    return { sub: seen.at(-1)?.sub, ...upstream.userInfo }
  }

  function document() {
    const { issuer } = upstream
    return {
      issuer: issuer.replace(/\/(common|organizations)\//, '/{tenantid}/'),
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      userinfo_endpoint: `${issuer}/userinfo`,
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    }
  }

  async function tokens(form: URLSearchParams): Promise<unknown> {
    const asked = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const verifier = form.get('code_verifier') ?? ''
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const isRight = asked?.challenge === challenge && asked.redirectUri === form.get('redirect_uri')
    if (!isRight) return { error: 'invalid_grant' }
    seen.push(asked.person)
    const access = { access_token: 'of upstream', token_type: 'Bearer' }
    return { ...access, id_token: await idToken(asked) }
  }

  async function idToken({ nonce, person }: Asked): Promise<string> {
    const now = Math.floor(clock().getTime() / 1000)
    const usual = { iss: upstream.issuer, aud: CLIENT_ID, iat: now, exp: now + 300, nonce }
    const claims = { ...usual, ...person, ...upstream.faults.claims }
    const { signedWith } = upstream.faults
    if (signedWith === 'none') {
      const parts = [{ alg: 'none' }, claims].map((part) =>
        Buffer.from(JSON.stringify(part)).toString('base64url'),
      )
      return `${parts.join('.')}.`
    }
    if (signedWith === 'HS256' || signedWith === 'the client secret') {
      const secret = signedWith === 'HS256' ? JSON.stringify(PUBLIC_JWK) : CLIENT_SECRET
      const header = { alg: 'HS256', kid: 'one' }
      return new SignJWT(claims).setProtectedHeader(header).sign(new TextEncoder().encode(secret))
    }
    const key = signedWith === 'another key' ? stranger.privateKey : privateKey
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(key)
  }

  return upstream
}

export type Upstream = Awaited<ReturnType<typeof startUpstream>>

function endpointOf(url: string): Endpoint {
  if (url.includes('.well-known')) return 'discovery'
  if (/token$/.test(url)) return 'token'
  if (url.endsWith('/keys')) return 'keys'
  return url.endsWith('/emails') ? 'emails' : 'userinfo'
}
