import type { User } from '@plinth/accounts'
import { renameEndpointCreator } from '@plinth/events'
import { type Db, fromRow } from '@plinth/kit/database'
import { endKeysMadeBy, isReservedName } from '@plinth/service-keys'
import { deleteFactor } from './factors.repository.ts'
import type { IdentityTables } from './tables.ts'

/** Erases everything this service stores about a user besides the account itself. */
export async function eraseUserData(
  db: Db<IdentityTables>,
  { id, email, username }: Pick<User, 'id' | 'email' | 'username'>,
  now: Date,
): Promise<void> {
  await db.deleteFrom('passkeys').where('user_id', '=', id).execute()
  await db.deleteFrom('passkey_users').where('user_id', '=', id).execute()
  await db.deleteFrom('passkey_challenges').where('user_id', '=', id).execute()
  await db.deleteFrom('one_time_tokens').where('user_id', '=', id).execute()
  await db.deleteFrom('mailed_codes').where('address', '=', email).execute()
  await db.deleteFrom('identities').where('user_id', '=', id).execute()
  await db.deleteFrom('federation_requests').where('user_id', '=', id).execute()
  await db.deleteFrom('federation_requests').where('email', '=', email).execute()
  await db.deleteFrom('unlinked_identities').where('email', '=', email).execute()
  await deleteFactor(db, id)
  await db.deleteFrom('authorization_codes').where('user_id', '=', id).execute()
  await db.deleteFrom('grants').where('user_id', '=', id).execute()
  await db.deleteFrom('known_browsers').where('user_id', '=', id).execute()
  await db.deleteFrom('mail_outbox').where('address', '=', email).execute()
  await db.deleteFrom('mail_outbox').where('user_id', '=', id).execute()
  await db.deleteFrom('held_registrations').where('address', '=', email).execute()
  // Registrations under an earlier address of the user.
  await db
    .deleteFrom('held_registrations')
    .where('username', '=', username)
    .where('used_at', 'is not', null)
    .execute()
  const to = `user ${id}`
  await endKeysMadeBy(db, username, { to, now })
  await renameEndpointCreator(db, username, to)
}

/**
 * A page of the audit events about a user, oldest first, after the last row read. The address of an
 * administrator is not the user's data, and events under a reserved name may be about someone else.
 */
export async function listAuditOf(
  db: Db<IdentityTables>,
  username: string,
  { after, most }: { after: number; most: number },
) {
  if (isReservedName(username)) return []
  const rows = await db
    .selectFrom('audit_events')
    .select(['id', 'at', 'event', 'actor', 'address', 'result'])
    .where('subject', '=', username)
    .where('id', '>', after)
    .orderBy('id')
    .limit(most)
    .execute()
  return rows.map((row) => {
    const byOther = row.actor !== null && row.actor !== username
    return { ...fromRow(row), address: byOther ? null : row.address }
  })
}

export async function listMailsOf(db: Db<IdentityTables>, userId: number) {
  const rows = await db
    .selectFrom('mail_outbox')
    .select(['kind', 'address', 'state', 'created_at', 'sent_at'])
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .execute()
  return rows.map(fromRow)
}
