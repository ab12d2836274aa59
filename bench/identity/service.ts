import { type BenchServer, startServer } from '../harness/server-process.ts'

export const ADMIN = { username: 'admin', password: 'password123123' }
export const JSON_TYPE = { 'content-type': 'application/json' }

export type Identity = { server: BenchServer; token: string }

/** Runs the service with an administrator signed in. */
export async function withIdentity<T>(
  work: (identity: Identity) => Promise<T>,
  env: Record<string, string> = {},
): Promise<T> {
  const server = await startServer('services/identity/src/main.ts', 'IDENTITY_PORT', {
    IDENTITY_FAILURE_LIMIT: '1000000',
    IDENTITY_FAILURE_LIMIT_PER_NETWORK: '1000000',
    IDENTITY_FAILURE_LIMIT_PER_ACCOUNT: '1000000',
    ...env,
  })
  try {
    const { accessToken } = (await (await logIn(server, ADMIN)).json()) as { accessToken: string }
    return await work({ server, token: accessToken })
  } finally {
    await server.stop()
  }
}

export function loginRequest(credentials: object) {
  const body = JSON.stringify(credentials)
  return { method: 'POST', path: '/api/auth/login', headers: JSON_TYPE, body }
}

export function logIn(server: Pick<BenchServer, 'url'>, credentials: object): Promise<Response> {
  const { path, ...request } = loginRequest(credentials)
  return fetch(server.url + path, request)
}
