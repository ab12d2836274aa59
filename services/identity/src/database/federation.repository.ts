import { type Db, deleteUntil, type FromRow, fromRow, toRow } from '@plinth/kit/database'
import type { IdentityTables } from './tables.ts'

type RequestRow = IdentityTables['federation_requests']

type FederationRequest = FromRow<RequestRow>

type NewRequest = Pick<
  FederationRequest,
  | 'id'
  | 'provider'
  | 'openingHash'
  | 'returnTo'
  | 'challenge'
  | 'userId'
  | 'sessionId'
  | 'createdAt'
  | 'expiresAt'
>

export async function insertRequest(db: Db<IdentityTables>, request: NewRequest): Promise<void> {
  const row = toRow<RequestRow>({
    ...request,
    stateHash: null,
    browserHash: null,
    answeredAt: null,
    ticketHash: null,
    ticketExpiresAt: null,
    issuer: null,
    subject: null,
    email: null,
    emailVerified: 0,
    spentAt: null,
  })
  await db.insertInto('federation_requests').values(row).execute()
}

type Opening = Pick<FederationRequest, 'provider' | 'openingHash'> & {
  stateHash: string
  browserHash: string
}

/** Once: of several browsers that open it, one goes on to the provider. */
export async function openRequest(
  db: Db<IdentityTables>,
  { provider, openingHash, stateHash, browserHash }: Opening,
  now: Date,
): Promise<FederationRequest | undefined> {
  const row = await db
    .updateTable('federation_requests')
    .set({ state_hash: stateHash, browser_hash: browserHash })
    .where('opening_hash', '=', openingHash)
    .where('provider', '=', provider)
    .where('state_hash', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .returningAll()
    .executeTakeFirst()
  return row && fromRow(row)
}

type Answer = Pick<FederationRequest, 'provider'> & { stateHash: string; browserHash: string }

/** Once, for the provider and the browser that it was begun with; others leave it as it is. */
export async function answerRequest(
  db: Db<IdentityTables>,
  { provider, stateHash, browserHash }: Answer,
  now: Date,
): Promise<FederationRequest | undefined> {
  const row = await db
    .updateTable('federation_requests')
    .set({ answered_at: now.toISOString() })
    .where('state_hash', '=', stateHash)
    .where('browser_hash', '=', browserHash)
    .where('provider', '=', provider)
    .where('answered_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .returningAll()
    .executeTakeFirst()
  return row && fromRow(row)
}

type Ticket = {
  ticketHash: string
  ticketExpiresAt: string
  issuer: string
  subject: string
  email: string | null
  emailVerified: boolean
}

export async function saveTicket(
  db: Db<IdentityTables>,
  id: string,
  { ticketHash, ticketExpiresAt, emailVerified, ...who }: Ticket,
): Promise<void> {
  await db
    .updateTable('federation_requests')
    .set({
      ticket_hash: ticketHash,
      ticket_expires_at: ticketExpiresAt,
      // The sweep must not delete it before that.
      expires_at: ticketExpiresAt,
      email_verified: emailVerified ? 1 : 0,
      ...who,
    })
    .where('id', '=', id)
    .execute()
}

type Spending = {
  ticketHash: string
  challenge: string
  /** The session that asked to link an identity; absent for a sign-in. */
  session?: { userId: number; sessionId: number }
}

/** What the provider has said, once, to the caller who began it; others leave the ticket as it is. */
export async function spendTicket(
  db: Db<IdentityTables>,
  { ticketHash, challenge, session }: Spending,
  now: Date,
): Promise<(FederationRequest & { issuer: string; subject: string }) | undefined> {
  const row = await db
    .updateTable('federation_requests')
    .set({ spent_at: now.toISOString() })
    .where('ticket_hash', '=', ticketHash)
    .where('challenge', '=', challenge)
    .where('spent_at', 'is', null)
    .where('ticket_expires_at', '>', now.toISOString())
    .where(({ eb, or, and }) =>
      or([
        eb('user_id', 'is', null),
        ...(session
          ? [and([eb('user_id', '=', session.userId), eb('session_id', '=', session.sessionId)])]
          : []),
      ]),
    )
    .returningAll()
    .executeTakeFirst()
  if (!row) return undefined
  const { issuer, subject } = row
  return issuer !== null && subject !== null ? { ...fromRow(row), issuer, subject } : undefined
}

type UnlinkedRow = IdentityTables['unlinked_identities']

export type UnlinkedIdentity = FromRow<UnlinkedRow>

export async function insertUnlinked(
  db: Db<IdentityTables>,
  identity: UnlinkedIdentity,
): Promise<void> {
  await db.insertInto('unlinked_identities').values(toRow<UnlinkedRow>(identity)).execute()
}

type Unlinked = Pick<UnlinkedIdentity, 'tokenHash' | 'purpose'>

export async function findUnlinked(
  db: Db<IdentityTables>,
  { tokenHash, purpose }: Unlinked,
  now: Date,
): Promise<UnlinkedIdentity | undefined> {
  const row = await db
    .selectFrom('unlinked_identities')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .where('purpose', '=', purpose)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirst()
  return row && fromRow(row)
}

/** Only one of several concurrent uses of a token succeeds; `email` is the address that it must be for. */
export async function spendUnlinked(
  db: Db<IdentityTables>,
  { tokenHash, purpose, email }: Unlinked & { email: string | null },
  now: Date,
): Promise<UnlinkedIdentity | undefined> {
  const row = await db
    .updateTable('unlinked_identities')
    .set({ used_at: now.toISOString() })
    .where('token_hash', '=', tokenHash)
    .where('purpose', '=', purpose)
    .where('email', email === null ? 'is' : '=', email)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .returningAll()
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function deleteExpiredFederation(
  db: Db<IdentityTables>,
  now: Date,
  signal: AbortSignal,
): Promise<void> {
  const requests = { table: 'federation_requests', key: 'id', column: 'expires_at' }
  await deleteUntil(db, requests, now, signal)
  const unlinked = { table: 'unlinked_identities', key: 'token_hash', column: 'expires_at' }
  await deleteUntil(db, unlinked, now, signal)
}
