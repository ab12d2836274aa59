import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { authenticatorCode } from '../consoles/authenticator-code.ts'

type Cleanup = { after(cleanup: () => Promise<void>): void }
type Answer = Record<string, string>

const ADMIN = { username: 'admin', password: 'password123123' }

/** An application whose users sign in at Plinth: it has one address, which shows what it was answered. */
export async function startApplication(t: Cleanup, identity: string, settings: object = {}) {
  const answers: Answer[] = []
  const server = createServer(async (request, response) => {
    const { search } = new URL(request.url ?? '', 'http://localhost')
    const sent = request.method === 'POST' ? await text(request) : search
    const answer = Object.fromEntries(new URLSearchParams(sent))
    if (Object.keys(answer).length > 0) answers.push(answer)
    const style = '<meta name="color-scheme" content="light"><link rel="icon" href="data:,">'
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><title>Shop</title>${style}<h1>Shop</h1>`)
  })
  await once(server.listen(0, 'localhost'), 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const origin = `http://localhost:${port}`
  const redirectUri = `${origin}/callback`
  const accessToken = await accessTokenOf(identity, ADMIN)
  const client = await send(identity, '/api/clients', accessToken, {
    name: 'Shop',
    redirectUris: [redirectUri],
    postLogoutRedirectUris: [`${origin}/`],
    uri: `${origin}/`,
    ...settings,
  })
  const verifier = randomBytes(32).toString('base64url')
  return {
    origin,
    ...(client as { clientId: string; clientSecret: string }),
    /** Where the application sends its users; also with other parameters. */
    authorize: (more: Record<string, string> = {}) => {
      const query = new URLSearchParams({
        client_id: String(client.clientId),
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: 'openid profile email',
        state: 'of the shop',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        ...more,
      })
      return `${identity}/oauth2/authorize?${query}`
    },
    /** Waits until the browser is back, and returns what it brought. */
    answered: async (page: Page): Promise<Answer> => {
      await page.getByRole('heading', { name: 'Shop', exact: true }).waitFor()
      return answers.at(-1) ?? {}
    },
    redeem: async ({ code = '' }: Answer) => {
      const reply = await fetch(`${identity}/oauth2/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code,
          redirect_uri: redirectUri,
          code_verifier: verifier,
          client_id: String(client.clientId),
          ...(typeof client.clientSecret === 'string' && { client_secret: client.clientSecret }),
        }),
      })
      return { status: reply.status, body: (await reply.json()) as Record<string, string> }
    },
  }
}

export function claimsOf(token = ''): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}

type Login = { username: string; password: string }

async function send(identity: string, path: string, accessToken: string, body: object) {
  const reply = await fetch(`${identity}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${accessToken}` },
    body: JSON.stringify(body),
  })
  const json = (await reply.json()) as Record<string, unknown>
  assert.ok(reply.ok, `${path}: ${reply.status} ${JSON.stringify(json)}`)
  return json
}

async function accessTokenOf(identity: string, login: Login): Promise<string> {
  const pair = await send(identity, '/api/auth/login', '', login)
  return String(pair.accessToken)
}

export async function register(identity: string, name: string) {
  const user = { username: name, email: `${name}@example.com`, password: 'correct horse battery' }
  await send(identity, '/api/auth/register', '', user)
  return user
}

/** Turns the second factor on; returns its codes, one for each call. */
export async function enrol(identity: string, login: Login): Promise<string[]> {
  const accessToken = await accessTokenOf(identity, login)
  const { secret } = await send(identity, '/api/users/me/totp', accessToken, {})
  const code = authenticatorCode(String(secret))
  const confirmed = await send(identity, '/api/users/me/totp/confirm', accessToken, { code })
  return confirmed.recoveryCodes as string[]
}

/** A browser of its own. Errors in its console, policy violations among them, fail the test. */
export async function openVisitor(
  t: Cleanup,
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`uncaught: ${error.message}`))
  page.on('console', (message) => {
    const refusal = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !refusal) faults.push(`console: ${message.text()}`)
  })
  t.after(async () => {
    await context.close()
    assert.deepEqual(faults, [])
  })
  return page
}

/** Fills in the form of the page. */
export async function signIn(page: Page, { username, password }: Login): Promise<void> {
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}
