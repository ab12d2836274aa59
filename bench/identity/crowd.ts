import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePortSettings } from '../../test/servers/free-ports.ts'
import type { BenchRequest } from '../harness/compare.ts'
import { type Crowds, crowdRows } from '../harness/crowd.ts'
import type { Row } from '../harness/row.ts'
import { type BenchServer, startServer } from '../harness/server-process.ts'
import { ADMIN, JSON_TYPE, logIn, loginRequest } from './service.ts'

/** Requests that differ, so that no limit per account or address ends the crowd. */
const DIFFERENT = 20_000
const ME = 'GET /api/users/me'

export async function crowd(): Promise<Row[]> {
  return [...(await inDevelopment()), ...(await inProduction()), ...(await atOneAddress())]
}

/** Each from another /64, through a trusted proxy. */
function fromManyNetworks(request: (index: number) => BenchRequest): BenchRequest[] {
  return Array.from({ length: DIFFERENT }, (_, index) => {
    const { headers, ...rest } = request(index)
    const network = `2001:db8:${(index >> 12).toString(16)}:${(index & 0xfff).toString(16)}::1`
    return { ...rest, headers: { ...headers, 'x-forwarded-for': network } }
  })
}

const posted = (path: string, body: object): BenchRequest => ({
  method: 'POST',
  path,
  headers: JSON_TYPE,
  body: JSON.stringify(body),
})

const reset = (index: number) =>
  posted('/api/auth/password-reset', { email: `someone${index}@example.com` })
const register = (index: number) =>
  posted('/api/auth/register', {
    username: `someone${index}`,
    email: `someone${index}@example.com`,
    password: ADMIN.password,
  })
const guess = (index: number) =>
  posted('/api/auth/mfa', { mfaToken: randomBytes(32).toString('base64url'), code: code(index) })
const code = (index: number) => String(index).padStart(6, '0')

async function inDevelopment(): Promise<Row[]> {
  const server = await startServer('services/identity/src/main.ts', 'IDENTITY_PORT', {
    IDENTITY_TRUSTED_PROXIES: 'loopback',
  })
  try {
    return await rowsOf(server, ME, {
      'resets from many networks': fromManyNetworks(reset),
      'registrations from many networks': fromManyNetworks(register),
      'wrong codes from many networks': fromManyNetworks(guess),
      'requests for passkey options': await passkeyOptions(server),
    })
  } finally {
    await server.stop()
  }
}

async function passkeyOptions(server: BenchServer): Promise<BenchRequest> {
  const reply = await fetch(`${server.url}/webauthn/csrf`)
  const { token } = (await reply.json()) as { token: string }
  const headers = { cookie: `XSRF-TOKEN=${token}`, 'x-xsrf-token': token }
  return { method: 'POST', path: '/webauthn/authenticate/options', headers }
}

async function inProduction(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-crowd-'))
  const server = await startServer('services/identity/src/main.ts', 'IDENTITY_PORT', {
    NODE_ENV: 'production',
    IDENTITY_MASTER_KEY: randomBytes(32).toString('base64'),
    IDENTITY_DATABASE_URL: `sqlite:${join(folder, 'identity.db')}`,
    IDENTITY_TRUSTED_PROXIES: 'loopback',
    IDENTITY_PUBLIC_URL: 'https://id.example',
    IDENTITY_ADMIN_USERNAME: ADMIN.username,
    IDENTITY_ADMIN_PASSWORD: ADMIN.password,
    IDENTITY_ADMIN_EMAIL: 'admin@example.com',
  })
  try {
    return await rowsOf(server, `${ME} in production`, {
      'logins from many networks': fromManyNetworks((index) =>
        loginRequest({ ...ADMIN, username: `someone${index}` }),
      ),
    })
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** All services in one process, below one address. */
async function atOneAddress(): Promise<Row[]> {
  const { SUITE_PORT: _, ...ports } = await freePortSettings()
  const server = await startServer('cli/main.js', 'SUITE_PORT', ports, ['start'])
  try {
    const identity = { ...server, url: `${server.url}/identity` }
    const crowds = { 'requests for what is not there': { path: '/identity/nothing/here' } }
    return await rowsOf(identity, `${ME} at one address`, crowds, server)
  } finally {
    await server.stop()
  }
}

async function rowsOf(
  identity: BenchServer,
  what: string,
  crowds: Crowds,
  server = identity,
): Promise<Row[]> {
  const { accessToken } = (await (await logIn(identity, ADMIN)).json()) as { accessToken: string }
  const headers = { authorization: `Bearer ${accessToken}` }
  const read = () => fetch(`${identity.url}/api/users/me`, { headers })
  return crowdRows({ server, what, read, crowds })
}
