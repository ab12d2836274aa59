import { createHmac, randomUUID } from 'node:crypto'
import { countFrom, type Origin, throttled } from '@plinth/accounts'
import type { Caller } from '@plinth/kit/http'
import { HOUR_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import {
  answerRequest,
  insertRequest,
  openRequest,
  saveTicket,
} from '../database/federation.repository.ts'
import { FEDERATION_SECONDS, MAX_FEDERATION_STARTS_AN_HOUR, TICKET_SECONDS } from '../limits.ts'
import { callbackOf, type Federation, requireProvider } from './federation.ts'
import { providerUnavailable, requestOver } from './problems.ts'
import { faultOf } from './providers/fault.ts'
import { Refused, type Round } from './providers/provider.ts'
import { requireReturnAddress } from './return-address.ts'

type Start = { returnTo: string; challenge: string }

/**
 * Begins a sign-in; with a caller, the linking of an identity. The address is ours and is opened by navigation, so
 * that the browser gets our cookie and pages of other origins need no credentials here.
 */
export async function startSignIn(
  federation: Federation,
  id: string,
  { returnTo, challenge }: Start,
  origin: Origin,
  caller?: Caller,
): Promise<{ url: string; expiresAt: string }> {
  const { accounts, db, publicUrl } = federation
  const provider = requireProvider(federation, id)
  const target = requireReturnAddress(federation, returnTo)
  const allowance = {
    kind: 'federation start',
    limit: MAX_FEDERATION_STARTS_AN_HOUR,
    seconds: HOUR_SECONDS,
  }
  const beyond = await countFrom(accounts, allowance, { event: 'IDENTITY_USED' }, origin)
  if (beyond) throw throttled(accounts, beyond)
  await provider.ready().catch((cause) => {
    throw providerUnavailable({ cause: new Error(faultOf(cause)) })
  })
  const now = accounts.clock()
  const opening = newOpaqueToken()
  const expiresAt = secondsAfter(now, FEDERATION_SECONDS).toISOString()
  await insertRequest(db, {
    id: randomUUID(),
    provider: id,
    openingHash: hashOpaqueToken(opening),
    returnTo: target,
    challenge,
    userId: caller ? Number(caller.userId) : null,
    sessionId: caller ? Number(caller.sessionId) : null,
    createdAt: now.toISOString(),
    expiresAt,
  })
  return { url: `${publicUrl}/federation/${id}/open?request=${opening}`, expiresAt }
}

/** Sends the browser that opens the address to the provider, once. */
export async function openSignIn(
  federation: Federation,
  id: string,
  { opening, browser }: { opening: string; browser: string },
): Promise<string> {
  const { accounts, db, providers } = federation
  const provider = providers.get(id)
  // First, because PostgreSQL accepts no NUL.
  if (!provider) throw requestOver()
  const state = newOpaqueToken()
  const secrets = {
    openingHash: hashOpaqueToken(opening),
    stateHash: hashOpaqueToken(state),
    browserHash: hashOpaqueToken(browser),
  }
  const request = await openRequest(db, { provider: id, ...secrets }, accounts.clock())
  if (!request) throw requestOver()
  const round = roundOf(federation, { id: request.id, provider: id, state })
  return provider.authorizationUrl(round).catch((error) => withError(federation, request, error))
}

type Answer = { state: string; browser: string; parameters: URLSearchParams }

/**
 * What the browser brings back from the provider. The state is spent first, so it can be tried once; then the
 * provider is asked, outside of any transaction. Returns where the browser goes.
 */
export async function answerSignIn(
  federation: Federation,
  id: string,
  { state, browser, parameters }: Answer,
): Promise<string> {
  const { accounts, db, providers } = federation
  const provider = providers.get(id)
  if (!provider) throw requestOver()
  const hashes = { stateHash: hashOpaqueToken(state), browserHash: hashOpaqueToken(browser) }
  const request = await answerRequest(db, { provider: id, ...hashes }, accounts.clock())
  if (!request) throw requestOver()
  const round = roundOf(federation, { id: request.id, provider: id, state })
  try {
    const { issuer, subject, email, emailVerified } = await provider.identify(parameters, round)
    const ticket = newOpaqueToken()
    await saveTicket(db, request.id, {
      ticketHash: hashOpaqueToken(ticket),
      ticketExpiresAt: secondsAfter(accounts.clock(), TICKET_SECONDS).toISOString(),
      issuer,
      subject: requireStorable(subject),
      email: email === undefined ? null : requireStorable(email),
      emailVerified,
    })
    return `${request.returnTo}#ticket=${ticket}`
  } catch (error) {
    return withError(federation, request, error)
  }
}

const MAX_CLAIM = 512

/** PostgreSQL refuses NUL, lone surrogates are stored as one and the same character, and a subject has at most 255 characters (OpenID Connect Core, section 2). */
function requireStorable(text: string): string {
  if (text.length > MAX_CLAIM || text.includes('\0') || !text.isWellFormed())
    throw new Error('The provider sent a value that cannot be stored')
  return text
}

/** Logs only what the fault is, because the error itself may hold an answer of the provider. */
function withError(
  { log }: Federation,
  { provider, returnTo }: { provider: string; returnTo: string },
  error: unknown,
): string {
  if (error instanceof Refused) return `${returnTo}#error=access_denied`
  log.outages.failed({
    state: `sign-in with ${provider}`,
    message: 'a sign-in with a provider failed',
    err: undefined,
    details: { provider, fault: faultOf(error) },
  })
  return `${returnTo}#error=provider_failed`
}

/** The secrets of a round are derived, so that none of them is stored. */
function roundOf(
  federation: Federation,
  { id, provider, state }: { id: string; provider: string; state: string },
): Round {
  const { masterKey } = federation.accounts.settings
  const secret = (name: string) =>
    createHmac('sha256', masterKey).update(`federation ${name}\n${id}`).digest('base64url')
  const redirectUri = callbackOf(federation, provider)
  return { state, nonce: secret('nonce'), verifier: secret('verifier'), redirectUri }
}
