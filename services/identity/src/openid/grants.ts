import { type By, findUserById, lockUser, type Origin, userUnknown } from '@plinth/accounts'
import { insertEvent } from '@plinth/events'
import { type Db, inTransaction } from '@plinth/kit/database'
import { recordIdentityEvent } from '../audit.ts'
import {
  type BrowserSession,
  revokeClientSessions,
} from '../database/client-sessions.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import { deleteGrant, findGrant, listGrants, saveGrant } from '../database/grants.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { clientNames, findKnownClient } from './known-clients.ts'
import type { OpenId } from './openid.ts'
import { grantUnknown } from './problems.ts'
import { isCovered } from './steps.ts'

type Allowed = { client: Client; request: AuthorizationRequest; session: BrowserSession; now: Date }

/** Adds to what the user has allowed the client before. Returns whether that is more than before. */
export async function allow(
  { clock }: OpenId,
  db: Db<IdentityTables>,
  { client, request, session, now }: Allowed,
): Promise<boolean> {
  const key = { userId: session.user.id, clientId: client.clientId }
  // What another tab allows, or the user takes back, at the same time comes before or after.
  await lockUser(db, key.userId)
  const before = await findGrant(db, key)
  if (isCovered(request, before)) return false
  const scopes = [...new Set([...(before?.scopes ?? []), ...request.scopes])]
  const resources = [...new Set([...(before?.resources ?? []), ...request.resources])]
  await saveGrant(db, key, { scopes, resources, now })
  await publish(db, 'grant.created', key, clock())
  return true
}

async function publish(
  db: Db<IdentityTables>,
  type: 'grant.created' | 'grant.revoked',
  { userId, clientId }: { userId: number; clientId: string },
  at: Date,
): Promise<void> {
  await insertEvent(db, { type, subject: `user:${userId}`, data: { userId, clientId }, at })
}

/** What a user has allowed clients, newest first. */
export async function grantsOf(openid: OpenId, userId: number) {
  if (!(await findUserById(openid.db, userId))) throw userUnknown()
  const grants = await listGrants(openid.db, userId)
  const clients = await Promise.all(grants.map(({ clientId }) => findKnownClient(openid, clientId)))
  const names = await clientNames(
    openid.db,
    grants.map(({ clientId }) => clientId),
  )
  return grants.map(({ clientId, ...grant }, index) => ({
    client: {
      clientId,
      name: names.get(clientId) ?? clientId,
      uri: clients[index]?.uri ?? null,
    },
    ...grant,
  }))
}

/** Ends what a client may do for a user, at once: its sessions, and its codes. */
export async function revokeGrant(
  { accounts, db, clock }: OpenId,
  { userId, clientId }: { userId: number; clientId: string },
  { actor, reason, origin }: By | { actor?: undefined; reason?: undefined; origin: Origin },
): Promise<void> {
  await inTransaction(db, async (inside) => {
    const user = await lockUser(inside, userId)
    if (!user) throw userUnknown()
    const key = { userId, clientId }
    // PostgreSQL accepts no NUL.
    if (clientId.includes('\0') || !(await deleteGrant(inside, key))) throw grantUnknown()
    await revokeClientSessions(inside, clientId, userId)
    const { username: subject } = user
    const event = { event: 'CONSENT_REVOKED', actor: actor ?? subject, subject, reason } as const
    await recordIdentityEvent({ ...accounts, db: inside }, event, origin)
    await publish(inside, 'grant.revoked', key, clock())
  })
}
