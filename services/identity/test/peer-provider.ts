import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'
import { CALLBACK } from './browser.ts'

export const PEER_CLIENT = { clientId: 'wiki', clientSecret: 'a secret of the wiki, long enough' }

/** The certified provider `oidc-provider`, with its own development pages and a client like ours. */
export async function startPeer(t: TestContext, postLogoutRedirectUri: string): Promise<string> {
  const server = http.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: PEER_CLIENT.clientId,
        client_secret: PEER_CLIENT.clientSecret,
        redirect_uris: [CALLBACK],
        post_logout_redirect_uris: [postLogoutRedirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    claims: {
      openid: ['sub'],
      profile: ['name', 'preferred_username'],
      email: ['email', 'email_verified'],
    },
    features: { revocation: { enabled: true } },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'one' }] },
    cookies: { keys: ['a key of the test'] },
    findAccount: (_: unknown, accountId: string) => ({
      accountId,
      claims: () => ({
        sub: accountId,
        name: 'alice',
        preferred_username: 'alice',
        email: 'alice@example.com',
        email_verified: false,
      }),
    }),
  })
  server.on('request', provider.callback())
  return issuer
}

type Cookie = { name: string; value: string; path: string }

/** A user of the peer's pages: signs in, allows everything, and stops where the client takes over. */
export function openPeerBrowser(issuer: string) {
  const cookies = new Map<string, Cookie>()

  async function send(url: URL, form?: Record<string, string>) {
    const sent = [...cookies.values()].filter(({ path }) => url.pathname.startsWith(path))
    const reply = await fetch(url, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: sent.map(({ name, value }) => `${name}=${value}`).join('; ') },
      ...(form && { body: new URLSearchParams(form) }),
    })
    for (const line of reply.headers.getSetCookie()) keep(line)
    return reply
  }

  function keep(line: string) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    const path = /; path=([^;]+)/i.exec(line)?.[1] ?? '/'
    if (value === '') cookies.delete(`${name} ${path}`)
    else cookies.set(`${name} ${path}`, { name, value, path })
  }

  /** Where the browser ends up, and how many pages the user has seen. */
  async function visit(start: URL): Promise<Visited> {
    let reply = await send(start)
    let pages = 0
    for (let step = 0; step < MAX_STEPS; step++) {
      const location = reply.headers.get('location')
      if (location) {
        const next = new URL(location, issuer)
        if (next.origin !== issuer) return { status: reply.status, location: next, pages }
        reply = await send(next)
        continue
      }
      const html = await reply.text()
      const action = /<form[^>]* action="([^"]+\/interaction\/[^"]+)"/.exec(html)?.[1]
      if (!action) return { status: reply.status, location: undefined, pages }
      pages += 1
      const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1] ?? ''
      reply = await send(new URL(action, issuer), { prompt, login: 'alice', password: 'any' })
    }
    throw new Error(`The browser is still under way after ${MAX_STEPS} steps.`)
  }

  return { visit, send }
}

const MAX_STEPS = 20

export type Visited = { status: number; location: URL | undefined; pages: number }
