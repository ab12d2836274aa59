import type { Origin } from '@plinth/accounts'
import { newOpaqueToken } from '@plinth/kit/tokens'
import type { Client } from '../database/clients.repository.ts'
import type { Answer } from './answers.ts'
import {
  type AnswerTo,
  type AuthorizationRequest,
  checkRequest,
  findAsker,
  RequestFault,
  requireClient,
} from './authorization-request.ts'
import { grantOf, openAuthorization } from './authorizations.ts'
import {
  type Browser,
  browserHash,
  extendSession,
  type NewCookie,
  sessionOf,
} from './browser-sessions.ts'
import { issueCode } from './codes.ts'
import type { OpenId } from './openid.ts'
import type { Parameters } from './parameters.ts'
import { countPending } from './pending-limit.ts'
import { isPushedAddress, takePushedRequest } from './pushed-requests.ts'
import { nextStep, type Step } from './steps.ts'

/** Either the client is answered, or the browser goes to the hosted page. */
export type Authorized = { cookie?: NewCookie | undefined } & (
  | { to: AnswerTo; answer: Answer }
  | { page: string }
)

/** Throws `RequestRefused` where the client must not be answered. */
export async function authorize(
  openid: OpenId,
  given: Parameters,
  browser: Browser,
  origin: Origin,
): Promise<Authorized> {
  const asked = await readRequest(openid, given, origin)
  try {
    const request = await checkRequest(openid, asked)
    return await proceed(openid, { client: asked.client, request, origin }, browser)
  } catch (error) {
    if (!(error instanceof RequestFault)) throw error
    return { to: error.to, answer: { error: error.error, error_description: error.message } }
  }
}

/** RFC 9126: beside the address of a pushed request, only the client counts. */
async function readRequest(openid: OpenId, given: Parameters, origin: Origin) {
  const address = given.get('request_uri')
  if (address === null || !isPushedAddress(address))
    return { ...(await findAsker(openid, given, origin)), given, wasPushed: false }
  const client = await requireClient(openid, given, origin)
  const pushed = await takePushedRequest(openid, client, given.getAll('request_uri'))
  return { ...(await findAsker(openid, pushed, origin)), given: pushed, wasPushed: true }
}

type Asked = { client: Client; request: AuthorizationRequest; origin: Origin }

async function proceed(openid: OpenId, asked: Asked, browser: Browser): Promise<Authorized> {
  const { client, request } = asked
  const session = await sessionOf(openid, browser)
  const step = nextStep({
    client,
    request,
    session,
    confirmedSession: null,
    consented: false,
    switching: false,
    grant: client.firstParty ? undefined : await grantOf(openid.db, client, session),
    now: openid.clock(),
  })
  if (step === 'done' && session) {
    const code = await issueCode(openid, openid.db, asked, session)
    return { to: request, answer: { code }, cookie: await extendSession(openid, session, browser) }
  }
  if (request.prompts.includes('none'))
    return { to: request, answer: { error: WITHOUT_PAGE[step] } }
  return askUser(openid, asked, browser)
}

/** OpenID Connect Core, section 3.1.2.6. */
const WITHOUT_PAGE: Record<Step, string> = {
  'sign-in': 'login_required',
  consent: 'consent_required',
  done: 'login_required',
}

/** The request waits for the user of this browser, which is known by its cookie from now on. */
async function askUser(openid: OpenId, asked: Asked, browser: Browser): Promise<Authorized> {
  if (await countPending(openid, 'authorization', asked.origin))
    throw new RequestFault(
      'temporarily_unavailable',
      'Too many requests from this network await an answer: try again later.',
      asked.request,
    )
  const cookie = browser.cookie ?? newOpaqueToken()
  const hash = browserHash({ cookie }) ?? ''
  const { client, request } = asked
  const id = await openAuthorization(openid, { client, request, browserHash: hash })
  const page = `${openid.publicUrl}/account/sign-in?authorization=${id}`
  return { page, ...(browser.cookie === undefined && { cookie: { value: cookie } }) }
}
