import type { Origin } from '@plinth/accounts'
import type { Client } from '../database/clients.repository.ts'
import { DocumentUnavailable } from './client-documents.ts'
import { MetadataFault } from './client-metadata.ts'
import { subjectOfHint } from './id-tokens.ts'
import { acceptsRedirect, loadKnownClient } from './known-clients.ts'
import {
  ACR_ONE_FACTOR,
  ACR_TWO_FACTORS,
  type OpenId,
  REFRESH_TOKEN,
  USER_SCOPES,
} from './openid.ts'
import { hasRepeated, type Parameters, parameter, words } from './parameters.ts'
import { RequestRefused } from './refusals.ts'
import { mayAskFor } from './resources.ts'

/** What a client asks for at the authorization endpoint, once it has been checked. */
export type AuthorizationRequest = {
  redirectUri: string
  responseMode: ResponseMode
  scopes: string[]
  resources: string[]
  state?: string | undefined
  nonce?: string | undefined
  codeChallenge?: string | undefined
  prompts: string[]
  maxAge?: number | undefined
  loginHint?: string | undefined
  /** The user that an ID token was issued about. */
  hintedUser?: string | undefined
  locale?: string | undefined
  acr?: string | undefined
  /** Set if it is the request of a device, which is answered there: it has no address. */
  device?: { hash: string; address: string; userAgent: string | null } | undefined
}

type ResponseMode = 'query' | 'form_post'

/** Where answers go: it is known that the client registered the address. */
export type AnswerTo = {
  redirectUri: string
  responseMode: ResponseMode
  state?: string | undefined
}

/** Told to the client. */
export class RequestFault extends Error {
  readonly error: string
  readonly to: AnswerTo

  constructor(error: string, description: string, to: AnswerTo) {
    super(description)
    this.error = error
    this.to = to
  }
}

const RESPONSE_MODES: ResponseMode[] = ['query', 'form_post']
const LOCALES = ['en', 'de', 'es']
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/** RFC 9700, section 4.11: until client and address are certain, every answer is a page. */
export async function findAsker(
  openid: OpenId,
  given: Parameters,
  origin: Origin,
): Promise<{ client: Client; to: AnswerTo }> {
  const client = await requireClient(openid, given, origin)
  const redirectUri = parameter(given, 'redirect_uri')
  if (redirectUri === undefined || !acceptsRedirect(client, redirectUri))
    throw new RequestRefused('address')
  const mode = RESPONSE_MODES.find((name) => name === parameter(given, 'response_mode'))
  const state = parameter(given, 'state')
  return { client, to: { redirectUri, responseMode: mode ?? 'query', state } }
}

export async function requireClient(
  openid: OpenId,
  given: Parameters,
  origin: Origin,
): Promise<Client> {
  const clientId = parameter(given, 'client_id')
  const client =
    clientId === undefined
      ? undefined
      : await loadKnownClient(openid, clientId, origin).catch(refuseDocument)
  if (!client) throw new RequestRefused('client')
  return client
}

/** Why a document could not be fetched is not said: it could be used to look round the network of this service. */
function refuseDocument(cause: unknown): never {
  if (cause instanceof DocumentUnavailable) throw new RequestRefused('silent document', { cause })
  if (!(cause instanceof MetadataFault)) throw cause
  throw new RequestRefused('invalid document', { cause, detail: cause.message })
}

type Asked = { client: Client; to: AnswerTo; given: Parameters; wasPushed: boolean }

/** Throws a `RequestFault` for the first thing that is wrong. */
export async function checkRequest(openid: OpenId, asked: Asked): Promise<AuthorizationRequest> {
  const { client, to, given } = asked
  const fault = faultOf(asked)
  if (fault) throw new RequestFault(...fault, to)
  const scopes = grantableScopes(client, given)
  if (scopes.length === 0)
    throw new RequestFault('invalid_scope', 'None of these scopes can be granted.', to)
  // Without an ID token to carry it, the nonce would protect nothing.
  if (parameter(given, 'code_challenge') === undefined && !scopes.includes('openid'))
    throw new RequestFault('invalid_request', 'Send a code_challenge, or scope openid.', to)
  const resources = [...new Set(given.getAll('resource'))].filter((one) => one !== '')
  if (!mayAskFor(openid, client, resources))
    throw new RequestFault('invalid_target', 'The client may not ask for this resource.', to)
  const hint = parameter(given, 'id_token_hint')
  const hintedUser = hint === undefined ? undefined : await subjectOfHint(openid, hint)
  if (hint !== undefined && hintedUser === undefined)
    throw new RequestFault('invalid_request', 'The id_token_hint is not an ID token of ours.', to)
  const maxAge = parameter(given, 'max_age')
  return {
    ...to,
    scopes,
    resources,
    nonce: parameter(given, 'nonce'),
    codeChallenge: parameter(given, 'code_challenge'),
    prompts: words(parameter(given, 'prompt')),
    maxAge: maxAge === undefined ? undefined : Number(maxAge),
    loginHint: parameter(given, 'login_hint'),
    hintedUser,
    locale: localeIn(parameter(given, 'ui_locales')),
    acr: words(parameter(given, 'acr_values')).find((value) =>
      [ACR_ONE_FACTOR, ACR_TWO_FACTORS].includes(value),
    ),
  }
}

type Fault = [error: string, description: string]

const invalid = (description: string): Fault => ['invalid_request', description]

function faultOf({ client, given, wasPushed }: Asked): Fault | undefined {
  // PostgreSQL stores no NUL.
  if ([...given.values()].some((value) => value.includes('\0')))
    return invalid('A parameter contains NUL.')
  const responseType = parameter(given, 'response_type')
  if (hasRepeated(given)) return invalid('A parameter is repeated.')
  // Before the others, which a client may send only inside of its object.
  if (given.has('request')) return ['request_not_supported', 'Send the parameters themselves.']
  if (given.has('request_uri') && !wasPushed)
    return ['request_uri_not_supported', 'Only addresses of pushed requests are supported.']
  if (responseType === undefined) return invalid('The parameter response_type is missing.')
  if (responseType !== 'code') return ['unsupported_response_type', 'Only code is supported.']
  if (client.requirePar && !wasPushed) return invalid('This client must push its requests.')
  return faultOfProof(client, given) ?? faultOfDetails(given)
}

/** RFC 7636; without it, the nonce of a confidential client protects the code (OAuth 2.1, section 7.5). */
function faultOfProof(client: Client, given: Parameters): Fault | undefined {
  const challenge = parameter(given, 'code_challenge')
  if (challenge !== undefined) {
    const isHashed = parameter(given, 'code_challenge_method') === 'S256'
    return isHashed && CHALLENGE.test(challenge)
      ? undefined
      : invalid('Send an S256 code_challenge of 43 characters.')
  }
  if (client.requirePkce) return invalid('The parameter code_challenge is missing.')
  if (parameter(given, 'nonce') === undefined)
    return invalid('Send a code_challenge or, with scope openid, a nonce.')
  return undefined
}

function faultOfDetails(given: Parameters): Fault | undefined {
  const maxAge = parameter(given, 'max_age')
  const mode = parameter(given, 'response_mode')
  const prompts = words(parameter(given, 'prompt'))
  if (maxAge !== undefined && !/^\d{1,10}$/.test(maxAge)) return invalid('max_age is not a number.')
  if (mode !== undefined && !RESPONSE_MODES.some((name) => name === mode))
    return invalid('The response_mode is neither query nor form_post.')
  if (prompts.includes('none') && prompts.length > 1)
    return invalid('The prompt none excludes others.')
  return undefined
}

/** Unknown scopes, and those that the client may not have, are ignored; the reply says what was granted. */
export function grantableScopes({ scopes, grantTypes }: Client, given: Parameters): string[] {
  const asked = words(parameter(given, 'scope'))
  return USER_SCOPES.filter((name) => asked.includes(name) && scopes.includes(name)).filter(
    (name) => name !== 'offline_access' || grantTypes.includes(REFRESH_TOKEN),
  )
}

function localeIn(locales: string | undefined): string | undefined {
  const languages = words(locales).map((locale) => locale.toLowerCase().split('-')[0] ?? '')
  return languages.find((language) => LOCALES.includes(language))
}
