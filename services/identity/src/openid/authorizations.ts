import { randomBytes } from 'node:crypto'
import { type Origin, sessionWindow } from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import { recordIdentityEvent } from '../audit.ts'
import {
  type Authorization,
  decideAuthorization,
  findAuthorization,
  insertAuthorization,
  updateAuthorization,
} from '../database/authorizations.repository.ts'
import { type BrowserSession, findBrowserSession } from '../database/client-sessions.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import { decideDevice } from '../database/devices.repository.ts'
import { findGrant } from '../database/grants.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { AUTHORIZATION_SECONDS } from '../limits.ts'
import { type Answer, answerAddress } from './answers.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import {
  type Browser,
  browserHash,
  handOver,
  type Login,
  type NewCookie,
} from './browser-sessions.ts'
import { issueCode } from './codes.ts'
import { allow } from './grants.ts'
import { acceptsRedirect, findKnownClient } from './known-clients.ts'
import type { OpenId } from './openid.ts'
import { authorizationUnknown, signInRequired } from './problems.ts'
import { shownHost } from './redirect-addresses.ts'
import { canContinue, isOtherUser, nextStep, type Situation, type Step } from './steps.ts'

/** A request that awaits its user, in the browser that it was made in. */
type Open = Situation & { authorization: Authorization }

type NewAuthorization = {
  client: Client
  request: AuthorizationRequest
  browserHash: string
}

export async function openAuthorization(
  { db, clock }: Pick<OpenId, 'db' | 'clock'>,
  { client, request, browserHash: hash }: NewAuthorization,
): Promise<string> {
  const id = randomBytes(16).toString('base64url')
  const now = clock()
  await insertAuthorization(db, {
    id,
    clientId: client.clientId,
    browserHash: hash,
    request: JSON.stringify(request),
    state: 'pending',
    sessionId: null,
    consented: 0,
    switching: 0,
    createdAt: now.toISOString(),
    expiresAt: secondsAfter(now, AUTHORIZATION_SECONDS).toISOString(),
  })
  return id
}

type Known = { id: string; hash: string | undefined }

async function requireOpen(
  openid: OpenId,
  db: Db<IdentityTables>,
  { id, hash }: Known,
): Promise<Open> {
  const now = openid.clock()
  const isId = /^[A-Za-z0-9_-]{22}$/.test(id)
  const authorization =
    hash === undefined || !isId
      ? undefined
      : await findAuthorization(db, { id, browserHash: hash, now })
  const client = authorization && (await findKnownClient({ ...openid, db }, authorization.clientId))
  if (!authorization || !client || hash === undefined) throw authorizationUnknown()
  const request: AuthorizationRequest = JSON.parse(authorization.request)
  // The address may have been taken from the client since.
  const isReachable = request.device !== undefined || acceptsRedirect(client, request.redirectUri)
  if (!isReachable) throw authorizationUnknown()
  const session = await findBrowserSession(db, { hash }, sessionWindow(openid.accounts))
  return {
    authorization,
    client,
    request,
    confirmedSession: authorization.sessionId,
    consented: authorization.consented === 1,
    switching: authorization.switching === 1,
    session,
    grant: await grantOf(db, client, session),
    now,
  }
}

export async function grantOf(
  db: Db<IdentityTables>,
  { clientId }: Client,
  session: BrowserSession | undefined,
) {
  return session && findGrant(db, { userId: session.user.id, clientId })
}

/** What the hosted page shows. */
export async function showAuthorization(openid: OpenId, id: string, browser: Browser) {
  const open = await requireOpen(openid, openid.db, { id, hash: browserHash(browser) })
  const isOver = open.authorization.state !== 'pending' || nextStep(open) === 'done'
  return shownOf(openid, open, isOver ? { redirectTo: answerPage(openid, id) } : undefined)
}

/** Where the browser is answered, if the answer is not an address of the client: a form, or from another tab. */
function answerPage({ publicUrl }: Pick<OpenId, 'publicUrl'>, id: string): string {
  return `${publicUrl}/oauth2/authorize/answer?authorization=${id}`
}

/** Where the browser goes; nowhere if a device waits for the answer. */
type Over = { redirectTo: string | null }

function shownOf({ signIn }: OpenId, open: Open, over: Over | undefined) {
  const { authorization, client, request, session } = open
  const step: Step = over ? 'done' : nextStep(open)
  // Where the page may offer to continue with it.
  const account = session && (step !== 'sign-in' || canContinue(open)) ? session.user : undefined
  const isAgain = step === 'sign-in' && !account && !open.switching && !isOtherUser(open)
  return {
    id: authorization.id,
    step,
    redirectTo: over?.redirectTo ?? null,
    client: {
      clientId: client.clientId,
      name: client.name,
      uri: client.uri,
      host: request.device ? '' : shownHost(request.redirectUri),
      firstParty: client.firstParty,
    },
    scopes: request.scopes,
    resources: request.resources,
    account: account ? { username: account.username, email: account.email } : null,
    loginHint: request.loginHint ?? (isAgain ? (session?.user.username ?? null) : null),
    create: request.prompts.includes('create'),
    methods: signIn.methods,
    providers: signIn.providers,
    locale: request.locale ?? null,
    device: request.device
      ? { address: request.device.address, userAgent: request.device.userAgent }
      : null,
    expiresAt: authorization.expiresAt,
  }
}

export type Decision =
  | ({ action: 'sign-in' } & Login)
  | { action: 'continue' | 'allow' | 'switch' | 'deny'; account?: string | undefined }

export type Decided = { shown: ReturnType<typeof shownOf>; cookie: NewCookie | undefined }

/** Of several concurrent decisions that answer the client, one does; the others find the request answered. */
export async function decide(
  openid: OpenId,
  { id, browser, decision }: { id: string; browser: Browser; decision: Decision },
  origin: Origin,
): Promise<Decided> {
  return inTransaction(openid.db, async (db) => {
    const hash = browserHash(browser)
    const open = await requireOpen(openid, db, { id, hash })
    if (open.authorization.state !== 'pending') throw authorizationUnknown()
    const cookie = await act(openid, db, open, decision, origin)
    const next = cookie ? hashOpaqueToken(cookie.value) : hash
    const after = await requireOpen(openid, db, { id, hash: next })
    const isOver = decision.action === 'deny' || nextStep(after) === 'done'
    const over = isOver ? await answer(openid, db, after, decision.action) : undefined
    return { shown: shownOf(openid, after, over), cookie }
  })
}

async function act(
  openid: OpenId,
  db: Db<IdentityTables>,
  open: Open,
  decision: Decision,
  origin: Origin,
): Promise<NewCookie | undefined> {
  const { authorization } = open
  const { id } = authorization
  if (decision.action === 'sign-in') return handOver(openid, db, authorization, decision)
  if (decision.action === 'switch')
    await updateAuthorization(db, id, { switching: 1, session_id: null, consented: 0 })
  if (decision.action === 'continue') {
    const session = requireShown(open, decision.account)
    if (!canContinue(open)) throw signInRequired()
    await updateAuthorization(db, id, { session_id: session.id })
  }
  if (decision.action === 'allow')
    await consent(openid, db, { ...open, session: requireShown(open, decision.account) }, origin)
  return undefined
}

/** In another tab somebody else may have signed in since. */
function requireShown({ session }: Open, account: string | undefined): BrowserSession {
  if (!session || (account !== undefined && account !== session.user.username))
    throw signInRequired()
  return session
}

async function consent(
  openid: OpenId,
  db: Db<IdentityTables>,
  open: Open & { session: BrowserSession },
  origin: Origin,
): Promise<void> {
  const { authorization, session } = open
  // The account that signed in for this request is the one that was asked.
  const isAsked = authorization.sessionId === null || authorization.sessionId === session.id
  if (!isAsked || nextStep(open) === 'sign-in') throw signInRequired()
  if (await allow(openid, db, open)) await recordConsent(openid, db, open, origin)
  await updateAuthorization(db, authorization.id, { session_id: session.id, consented: 1 })
}

async function recordConsent(
  { accounts }: OpenId,
  db: Db<IdentityTables>,
  { session, client }: Open & { session: BrowserSession },
  origin: Origin,
): Promise<void> {
  const { username } = session.user
  const event = { event: 'CONSENT_GIVEN', actor: username, subject: username } as const
  // What users allow applications of the house is no news to them.
  const { onEvent, ...quiet } = accounts
  const recorder = client.firstParty ? quiet : { ...quiet, onEvent }
  await recordIdentityEvent({ ...recorder, db }, { ...event, reason: client.name }, origin)
}

/** Answers the client with an address; a form is answered when the browser opens the page of it. */
async function answer(
  openid: OpenId,
  db: Db<IdentityTables>,
  open: Open,
  action: Decision['action'],
): Promise<Over> {
  const { authorization, request, now } = open
  const isForm = request.responseMode === 'form_post'
  const decided = action === 'deny' ? 'denied' : 'allowed'
  const change = { from: 'pending', to: isForm ? decided : 'done', now } as const
  if (!(await decideAuthorization(db, authorization.id, change))) throw authorizationUnknown()
  if (request.device) return answerDevice(db, open, request.device.hash, decided)
  if (isForm) return { redirectTo: answerPage(openid, authorization.id) }
  const given = await answerTo(openid, db, open, decided)
  return { redirectTo: answerAddress(openid, request, given) }
}

async function answerDevice(
  db: Db<IdentityTables>,
  { session, now }: Open,
  hash: string,
  state: 'denied' | 'allowed',
): Promise<Over> {
  const sessionId = session?.id ?? null
  if (!(await decideDevice(db, hash, { state, sessionId, now }))) throw authorizationUnknown()
  return { redirectTo: null }
}

async function answerTo(
  openid: OpenId,
  db: Db<IdentityTables>,
  { session, client, request }: Open,
  decided: 'denied' | 'allowed',
): Promise<Answer> {
  if (decided === 'denied') return { error: 'access_denied' }
  if (!session) throw authorizationUnknown()
  return { code: await issueCode(openid, db, { client, request }, session) }
}

/** The answer to a request that was decided, or for which nothing is left to ask; undefined if there is. */
export async function takeAnswer(
  openid: OpenId,
  id: string,
  browser: Browser,
): Promise<{ request: AuthorizationRequest; answer: Answer } | undefined> {
  return inTransaction(openid.db, async (db) => {
    const open = await requireOpen(openid, db, { id, hash: browserHash(browser) })
    const { authorization, request, now } = open
    const { state } = authorization
    // Somebody else may have signed in to this browser since.
    if (state === 'allowed' && authorization.sessionId !== open.session?.id)
      throw authorizationUnknown()
    if (state === 'pending' && nextStep(open) !== 'done') return undefined
    const change = { from: state, to: 'done', now } as const
    if (!(await decideAuthorization(db, id, change))) throw authorizationUnknown()
    const decided = state === 'denied' ? 'denied' : 'allowed'
    return { request, answer: await answerTo(openid, db, open, decided) }
  })
}
