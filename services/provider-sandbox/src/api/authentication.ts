import { isSameSecret } from '@plinth/kit/tokens'
import type { SandboxConfig } from '../config.ts'
import { ProviderError } from '../protocol/errors.ts'

/** Any key is accepted except a live one, unless one is configured. */
export function authenticate(
  authorization: string | undefined,
  { secretKey }: Pick<SandboxConfig, 'secretKey'>,
): void {
  const key = keyOf(authorization ?? '')
  if (!key)
    throw unauthorized(
      'You did not provide an API key. Send it as "Authorization: Bearer sk_test_…".',
    )
  if (/_live_/.test(key))
    throw unauthorized(
      `Invalid API Key provided: ${masked(key)}. This is a sandbox, it refuses live keys.`,
    )
  if (secretKey !== undefined && !isSameSecret(key, secretKey))
    throw unauthorized(`Invalid API Key provided: ${masked(key)}`)
}

function keyOf(authorization: string): string | undefined {
  const [scheme = '', credentials = ''] = authorization.split(' ')
  if (/^bearer$/i.test(scheme)) return credentials
  if (/^basic$/i.test(scheme)) return Buffer.from(credentials, 'base64').toString().split(':')[0]
  return undefined
}

function masked(key: string): string {
  return `${key.slice(0, 8)}${'*'.repeat(8)}${key.slice(-4)}`
}

export const unauthorized = (message: string) =>
  new ProviderError({ status: 401, message, transient: true })
