import type { Origin } from '@plinth/accounts'
import { hashOpaqueToken, isSameSecret } from '@plinth/kit/tokens'
import { type Client, listSecretHashes } from '../database/clients.repository.ts'
import { ASSERTION_TYPE, verifyAssertion } from './client-assertions.ts'
import { DocumentUnavailable } from './client-documents.ts'
import { MetadataFault } from './client-metadata.ts'
import { findKnownClient, loadKnownClient } from './known-clients.ts'
import type { OpenId } from './openid.ts'
import { type Parameters, parameter } from './parameters.ts'
import { clientInvalid, documentUnavailable } from './problems.ts'

/** What a client sends to a token endpoint: a form, and perhaps the header `Authorization`. */
export type ClientRequest = {
  form: Parameters
  authorization: string | undefined
  origin: Origin
}

/** RFC 6749, section 2.3, and RFC 7523: the way that the client registered, and no other, and only one. */
export async function authenticateClient(
  openid: OpenId,
  { form, authorization, origin }: ClientRequest,
): Promise<Client> {
  const basic = authorization === undefined ? undefined : basicOf(authorization)
  const secret = parameter(form, 'client_secret')
  const assertion = parameter(form, 'client_assertion')
  const ways = [authorization, secret, assertion].filter((way) => way !== undefined)
  if (ways.length > 1 || (authorization !== undefined && !basic)) throw clientInvalid()
  if (assertion !== undefined) return byAssertion(openid, form, assertion)
  const named = parameter(form, 'client_id')
  if (basic && named !== undefined && named !== basic.id) throw clientInvalid()
  const client = await requireKnown(openid, basic?.id ?? named, origin)
  const given = basic?.secret ?? secret
  if (given === undefined && client.authMethod === 'none') return client
  if (given === undefined || client.authMethod !== 'client_secret') throw clientInvalid()
  const hashes = await listSecretHashes(openid.db, client.clientId, openid.clock())
  const hash = hashOpaqueToken(given)
  if (!hashes.some((one) => isSameSecret(hash, one))) throw clientInvalid()
  return client
}

async function requireKnown(
  openid: OpenId,
  clientId: string | undefined,
  origin: Origin,
): Promise<Client> {
  if (clientId === undefined) throw clientInvalid()
  const client = await loadKnownClient(openid, clientId, origin).catch((cause: unknown) =>
    refuseDocument(openid, clientId, cause),
  )
  if (!client) throw clientInvalid()
  return client
}

/** A client that was known should try again. Of an address that a stranger made up, no outage may be reported. */
async function refuseDocument(openid: OpenId, clientId: string, cause: unknown): Promise<never> {
  if (cause instanceof DocumentUnavailable && (await findKnownClient(openid, clientId)))
    throw documentUnavailable({ cause })
  if (cause instanceof DocumentUnavailable)
    throw clientInvalid({ cause, detail: 'The document of the client could not be fetched.' })
  if (cause instanceof MetadataFault) throw clientInvalid({ cause, detail: cause.message })
  throw cause
}

async function byAssertion(openid: OpenId, form: Parameters, assertion: string): Promise<Client> {
  if (parameter(form, 'client_assertion_type') !== ASSERTION_TYPE)
    throw clientInvalid({ detail: `The client_assertion_type must be ${ASSERTION_TYPE}.` })
  return verifyAssertion(openid, assertion, parameter(form, 'client_id'))
}

/** Both parts are form-encoded before they are joined. */
export function basicOf(authorization: string): { id: string; secret: string } | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(authorization) ?? []
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const end = text.indexOf(':')
  if (end < 0) return undefined
  return { id: formDecoded(text.slice(0, end)), secret: formDecoded(text.slice(end + 1)) }
}

function formDecoded(text: string): string {
  return new URLSearchParams(`x=${text.replaceAll('&', '%26')}`).get('x') ?? ''
}
