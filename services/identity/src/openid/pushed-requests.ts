import type { Origin } from '@plinth/accounts'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import { insertPushed, takePushed } from '../database/authorizations.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import { PUSHED_SECONDS } from '../limits.ts'
import { checkRequest, findAsker, RequestFault } from './authorization-request.ts'
import type { OpenId } from './openid.ts'
import { hasRepeated, type Parameters } from './parameters.ts'
import { admitPending } from './pending-limit.ts'
import {
  pushedRequestInvalid,
  requestNotSupported,
  responseTypeUnsupported,
  scopeNotGranted,
  targetInvalid,
} from './problems.ts'
import { RequestRefused } from './refusals.ts'

const ADDRESS = 'urn:ietf:params:oauth:request_uri:'

export const PUSHED_PROBLEMS = [
  pushedRequestInvalid,
  responseTypeUnsupported,
  requestNotSupported,
  scopeNotGranted,
  targetInvalid,
]

/** What authenticates a client is no part of its request. */
const CREDENTIALS = ['client_secret', 'client_assertion', 'client_assertion_type']

export function isPushedAddress(address: string): boolean {
  return address.startsWith(ADDRESS)
}

/** RFC 9126: keeps the request of a client that has authenticated. What is wrong with it is said here. */
export async function pushRequest(
  openid: OpenId,
  client: Client,
  given: Parameters,
  origin: Origin,
) {
  if (given.has('request_uri'))
    throw pushedRequestInvalid({ detail: 'A pushed request has no request_uri.' })
  // Looked at before the client replaces what was sent as its name.
  if (hasRepeated(given)) throw pushedRequestInvalid({ detail: 'A parameter is repeated.' })
  const parameters = new URLSearchParams(given)
  for (const name of CREDENTIALS) parameters.delete(name)
  parameters.set('client_id', client.clientId)
  await requireValid(openid, parameters, origin)
  // One that has authenticated pushes for all its users, and can be disabled.
  if (client.authMethod === 'none') await admitPending(openid, 'pushed request', origin)
  const secret = newOpaqueToken()
  await insertPushed(openid.db, {
    requestHash: hashOpaqueToken(secret),
    clientId: client.clientId,
    parameters: parameters.toString(),
    expiresAt: secondsAfter(openid.clock(), PUSHED_SECONDS).toISOString(),
  })
  return { request_uri: ADDRESS + secret, expires_in: PUSHED_SECONDS }
}

async function requireValid(openid: OpenId, given: Parameters, origin: Origin): Promise<void> {
  try {
    const asker = await findAsker(openid, given, origin)
    await checkRequest(openid, { ...asker, given, wasPushed: true })
  } catch (error) {
    if (error instanceof RequestRefused) throw pushedRequestInvalid({ detail: error.message })
    if (!(error instanceof RequestFault)) throw error
    const problem = PUSHED_PROBLEMS.find(({ code }) => code === error.error)
    throw (problem ?? pushedRequestInvalid)({ detail: error.message })
  }
}

/** Works once, for the client that pushed it. */
export async function takePushedRequest(
  { db, clock }: OpenId,
  { clientId }: Client,
  [address = '', ...more]: string[],
): Promise<Parameters> {
  const requestHash = hashOpaqueToken(address.slice(ADDRESS.length))
  const text =
    more.length > 0 ? undefined : await takePushed(db, { requestHash, clientId, now: clock() })
  if (text === undefined) throw new RequestRefused('pushed')
  return new URLSearchParams(text)
}
