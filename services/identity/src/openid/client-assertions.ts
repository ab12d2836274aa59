import { hashOpaqueToken, readSignedClaims } from '@plinth/kit/tokens'
import { type Client, insertAssertion } from '../database/clients.repository.ts'
import { keysOf, newerKeysOf } from './client-keys.ts'
import { findKnownClient } from './known-clients.ts'
import type { OpenId } from './openid.ts'
import { clientInvalid } from './problems.ts'

export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
export const ASSERTION_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']

const TYPES = [undefined, 'jwt', 'client-authentication+jwt']
const MAX_LIFETIME_SECONDS = 300
const CLOCK_SKEW_SECONDS = 10
const MAX_JTI = 512

/** RFC 7523 and RFC 10070: a token that the client signed for this issuer alone, and that works once. */
export async function verifyAssertion(
  openid: OpenId,
  assertion: string,
  named: string | undefined,
): Promise<Client> {
  const issuedBy = issuerIn(assertion)
  const client = issuedBy === undefined ? undefined : await findKnownClient(openid, issuedBy)
  if (client?.authMethod !== 'private_key_jwt') throw clientInvalid()
  if (named !== undefined && named !== client.clientId) throw clientInvalid()
  const claims =
    (await read(assertion, await keysOf(openid, client))) ??
    (await read(assertion, await newerKeysOf(openid, client)))
  const found = claims && timesIn(openid, client, claims)
  if (!found) throw clientInvalid()
  const hash = hashOpaqueToken(JSON.stringify([client.clientId, found.jti]))
  if (!(await insertAssertion(openid.db, hash, found.expiresAt)))
    throw clientInvalid({ detail: 'The assertion was used before: sign a new one.' })
  return client
}

const RULES = { algorithms: ASSERTION_ALGORITHMS, types: TYPES }

async function read(assertion: string, set: object | undefined) {
  return set && readSignedClaims(assertion, { set }, RULES)
}

/** Without trusting it: decides only whose keys are used. */
function issuerIn(assertion: string): string | undefined {
  try {
    const [, payload = ''] = assertion.split('.')
    const { iss } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) ?? {}
    return typeof iss === 'string' ? iss : undefined
  } catch {
    return undefined
  }
}

function timesIn(
  { issuer, clock }: OpenId,
  { clientId }: Client,
  { iss, sub, aud, exp, nbf, iat, jti }: Record<string, unknown>,
): { jti: string; expiresAt: Date } | undefined {
  if (iss !== clientId || sub !== clientId) return undefined
  if (aud !== issuer && !(Array.isArray(aud) && aud.length === 1 && aud[0] === issuer))
    throw clientInvalid({
      detail: `The audience of an assertion must be the issuer alone: ${issuer}`,
    })
  const now = clock().getTime() / 1000
  const isSoon = (time: unknown) => typeof time === 'number' && time <= now + CLOCK_SKEW_SECONDS
  if (typeof exp !== 'number' || exp <= now) return undefined
  // Authlib signs for an hour unless it is told otherwise.
  if (exp > now + MAX_LIFETIME_SECONDS + CLOCK_SKEW_SECONDS)
    throw clientInvalid({
      detail: `An assertion may be valid for ${MAX_LIFETIME_SECONDS} seconds at most.`,
    })
  if ((nbf !== undefined && !isSoon(nbf)) || (iat !== undefined && !isSoon(iat))) return undefined
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI) return undefined
  return { jti, expiresAt: new Date(exp * 1000) }
}
