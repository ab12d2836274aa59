import type { BrowserSession } from '../database/client-sessions.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import type { Grant } from '../database/grants.repository.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { acrOf } from './id-tokens.ts'
import { isConsole } from './known-clients.ts'
import { ACR_TWO_FACTORS } from './openid.ts'
import { canBeImpersonated } from './redirect-addresses.ts'

export type Step = 'sign-in' | 'consent' | 'done'

/** What is known of a request when its next step is decided. */
export type Situation = {
  client: Client
  request: AuthorizationRequest
  /** The session that the user began or confirmed for this request. */
  confirmedSession: number | null
  consented: boolean
  /** Whether the user wants another account. */
  switching: boolean
  session: BrowserSession | undefined
  grant: Grant | undefined
  now: Date
}

export function nextStep(situation: Situation): Step {
  if (needsSignIn(situation)) return 'sign-in'
  return needsConsent(situation) ? 'consent' : 'done'
}

function needsSignIn(situation: Situation): boolean {
  return !canContinue(situation) || (wantsChoice(situation) && !isConfirmed(situation))
}

/** Whether the session of the browser would do, if the user confirms it. */
export function canContinue(situation: Situation): boolean {
  const { session, request, switching, now } = situation
  if (!session || switching || isOtherUser(situation)) return false
  // Either begun for this request, or confirmed, which is possible only if it would do.
  if (isConfirmed(situation)) return true
  const { prompts, maxAge, acr } = request
  if (prompts.includes('login') || prompts.includes('create')) return false
  const ageSeconds = (now.getTime() - session.authenticatedAt.getTime()) / 1000
  if (maxAge !== undefined && (maxAge === 0 || ageSeconds > maxAge)) return false
  return acr !== ACR_TWO_FACTORS || acrOf(session.amr) === acr || !session.user.secondFactor
}

/** Whether the client expects another user than the one who is signed in to the browser. */
export function isOtherUser({ session, request: { hintedUser } }: Situation): boolean {
  return hintedUser !== undefined && hintedUser !== String(session?.user.id)
}

function wantsChoice({ request }: Situation): boolean {
  return request.prompts.includes('select_account')
}

function isConfirmed({ confirmedSession, session }: Situation): boolean {
  return session !== undefined && confirmedSession === session.id
}

function needsConsent(situation: Situation): boolean {
  const { client, request, consented, grant } = situation
  if (consented) return false
  // The person at the device may have sent its code to this user.
  if (request.device) return true
  if (request.prompts.includes('consent') || mustAlwaysAsk(client, request)) return true
  return !client.firstParty && !isCovered(request, grant)
}

/** RFC 8252, section 8.6: nothing proves which program asks. Nor has anyone checked a client that describes itself. */
function mustAlwaysAsk(client: Client, { redirectUri }: AuthorizationRequest): boolean {
  if (client.selfRegistered) return true
  return client.authMethod === 'none' && !isConsole(client) && canBeImpersonated(redirectUri)
}

type Wanted = { scopes: string[]; resources: string[] }

/** Whether everything that is asked for was allowed before. */
export function isCovered({ scopes, resources }: Wanted, grant: Wanted | undefined): boolean {
  if (!grant) return false
  return (
    scopes.every((name) => grant.scopes.includes(name)) &&
    resources.every((one) => grant.resources.includes(one))
  )
}
