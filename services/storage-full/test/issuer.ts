import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

type Scope = { after(work: () => Promise<void> | void): void }

/** Another service that signs tokens, publishes its key, and reports on its users. */
export async function startIssuer(t: Scope, alg = 'ES256') {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const key = { ...(await exportJWK(publicKey)), kid: 'one', alg, use: 'sig' }
  const answer = { status: 200, body: { active: true, username: 'remote', roles: ['ROLE_ADMIN'] } }
  const owner = { status: 200, body: { enabled: true } as object, asked: async () => {} }
  const deleted = {
    users: [] as { id: number; deletedAt: string }[],
    /** The positions in the list that were requested. */
    after: [] as (string | null)[],
    asked: async () => {},
  }
  /** One per page, as if there were many. */
  const deletedAfter = (after: string | null) => {
    const items = deleted.users.slice(Number(after), Number(after) + 1)
    return { items, next: items.length > 0 ? String(Number(after) + 1) : after }
  }
  const server = createServer(async ({ url = '' }, response) => {
    response.setHeader('content-type', 'application/json')
    if (url.startsWith('/api/users/deleted')) {
      const after = new URL(url, 'http://issuer').searchParams.get('after')
      deleted.after.push(after)
      await deleted.asked()
      return response.end(JSON.stringify(deletedAfter(after)))
    }
    if (url === '/api/users/2/status') {
      await owner.asked()
      return response.writeHead(owner.status).end(JSON.stringify(owner.body))
    }
    if (url !== '/oauth2/introspect') return response.end(JSON.stringify({ keys: [key] }))
    response.writeHead(answer.status).end(JSON.stringify(answer.body))
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sign = (
    now: Date,
    claims: object,
    { iss = issuer, typ = 'at+jwt', aud = 'plinth' as string | string[] } = {},
  ) =>
    new SignJWT({ username: 'remote', roles: ['ROLE_USER'], sid: '1', ...claims })
      .setProtectedHeader({ alg, typ, kid: 'one' })
      .setIssuer(iss)
      .setAudience(aud)
      .setSubject('2')
      .setIssuedAt(now)
      .setExpirationTime(new Date(now.getTime() + 900_000))
      .sign(privateKey)
  return { issuer, sign, answer, owner, deleted }
}
