import { createHmac, randomBytes } from 'node:crypto'
import { openText, type Sealed, sealText } from '@plinth/kit/tokens'
import type { Endpoint } from '../database/endpoints.repository.ts'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** The endpoint id is bound into the seal: a secret copied to another row cannot be opened. */
export function sealSecret(key: Buffer, endpointId: string, secret: string): Sealed {
  return sealText(key, secret, purposeOf(endpointId))
}

export function openSecret(key: Buffer, endpointId: string, sealed: Sealed): string {
  return openText(key, sealed, purposeOf(endpointId))
}

function purposeOf(endpointId: string): string {
  return `event endpoint ${endpointId}`
}

/** The secrets that sign now: the current one first, then those replaced less than a day ago. */
export function secretsInForce(
  key: Buffer,
  { id, secret, oldSecrets }: Endpoint,
  now: Date,
): string[] {
  const old = oldSecrets.filter(({ until }) => until > now.toISOString())
  return [secret, ...old.map((one) => one.secret)].map((sealed) => openSecret(key, id, sealed))
}

/** The headers of one attempt, as defined by Standard Webhooks 1.0. */
export function signedHeaders(
  secrets: string[],
  { id, body, at }: { id: string; body: string; at: Date },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
