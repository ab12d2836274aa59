import { type Db, deleteUntil, type FromRow, fromRow, prepared, toRow } from '@plinth/kit/database'
import type { IdentityTables } from './tables.ts'

type AuthorizationRow = IdentityTables['authorizations']

export type Authorization = FromRow<AuthorizationRow>

export async function insertAuthorization(
  db: Db<IdentityTables>,
  authorization: Authorization,
): Promise<void> {
  await db.insertInto('authorizations').values(toRow<AuthorizationRow>(authorization)).execute()
}

/** One that still awaits an answer, of this browser. */
export async function findAuthorization(
  db: Db<IdentityTables>,
  { id, browserHash, now }: { id: string; browserHash: string; now: Date },
): Promise<Authorization | undefined> {
  const row = await db
    .selectFrom('authorizations')
    .selectAll()
    .where('id', '=', id)
    .where('browser_hash', '=', browserHash)
    .where('state', '!=', 'done')
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirst()
  return row && fromRow(row)
}

type Change = Partial<Pick<AuthorizationRow, 'session_id' | 'consented' | 'switching'>>

export async function updateAuthorization(
  db: Db<IdentityTables>,
  id: string,
  change: Change,
): Promise<void> {
  await db.updateTable('authorizations').set(change).where('id', '=', id).execute()
}

/** Of several concurrent decisions, one succeeds. */
export async function decideAuthorization(
  db: Db<IdentityTables>,
  id: string,
  { from, to, now }: { from: AuthorizationRow['state']; to: AuthorizationRow['state']; now: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('authorizations')
    .set({ state: to })
    .where('id', '=', id)
    .where('state', '=', from)
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** The browser has a new cookie: its other tabs go on. */
export async function moveAuthorizations(
  db: Db<IdentityTables>,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await db
    .updateTable('authorizations')
    .set({ browser_hash: to })
    .where('browser_hash', '=', from)
    .execute()
}

type CodeRow = IdentityTables['authorization_codes']

export type AuthorizationCode = FromRow<CodeRow>

const insertCodeRow = prepared((db: Db<IdentityTables>, row: CodeRow) =>
  db.insertInto('authorization_codes').values(row),
)

export async function insertCode(db: Db<IdentityTables>, code: AuthorizationCode): Promise<void> {
  await insertCodeRow(db, toRow<CodeRow>(code))
}

const codeByHash = prepared((db: Db<IdentityTables>, { codeHash }: { codeHash: string }) =>
  db.selectFrom('authorization_codes').selectAll().where('code_hash', '=', codeHash),
)

export async function findCode(
  db: Db<IdentityTables>,
  codeHash: string,
): Promise<AuthorizationCode | undefined> {
  const [row] = await codeByHash(db, { codeHash })
  return row && fromRow(row)
}

const spend = prepared((db: Db<IdentityTables>, use: { codeHash: string; now: string }) =>
  db
    .updateTable('authorization_codes')
    .set({ used_at: use.now })
    .where('code_hash', '=', use.codeHash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', use.now)
    .returning('code_hash'),
)

/** Of several concurrent uses of a code, one succeeds. */
export async function spendCode(
  db: Db<IdentityTables>,
  codeHash: string,
  now: Date,
): Promise<boolean> {
  return (await spend(db, { codeHash, now: now.toISOString() })).length > 0
}

const setGiven = prepared(
  (db: Db<IdentityTables>, given: { codeHash: string; sessionId: number }) =>
    db
      .updateTable('authorization_codes')
      .set({ given_session_id: given.sessionId })
      .where('code_hash', '=', given.codeHash),
)

/** What a second use of the code must end. */
export async function updateGivenSession(
  db: Db<IdentityTables>,
  codeHash: string,
  sessionId: number,
): Promise<void> {
  await setGiven(db, { codeHash, sessionId })
}

type PushedRow = IdentityTables['pushed_requests']

export async function insertPushed(
  db: Db<IdentityTables>,
  pushed: FromRow<PushedRow>,
): Promise<void> {
  await db.insertInto('pushed_requests').values(toRow<PushedRow>(pushed)).execute()
}

/** Of several concurrent uses of a pushed request, one succeeds. */
export async function takePushed(
  db: Db<IdentityTables>,
  { requestHash, clientId, now }: { requestHash: string; clientId: string; now: Date },
): Promise<string | undefined> {
  const row = await db
    .deleteFrom('pushed_requests')
    .where('request_hash', '=', requestHash)
    .where('client_id', '=', clientId)
    .where('expires_at', '>', now.toISOString())
    .returning('parameters')
    .executeTakeFirst()
  return row?.parameters
}

type Expired = { now: Date; codesBefore: Date }

/** Used codes are kept for a while, so that a second use is noticed. */
export async function deleteExpiredRequests(
  db: Db<IdentityTables>,
  { now, codesBefore }: Expired,
  signal: AbortSignal,
): Promise<void> {
  const column = 'expires_at'
  await deleteUntil(db, { table: 'authorizations', key: 'id', column }, now, signal)
  await deleteUntil(db, { table: 'pushed_requests', key: 'request_hash', column }, now, signal)
  await deleteUntil(db, { table: 'client_assertions', key: 'assertion_hash', column }, now, signal)
  await deleteUntil(db, { table: 'client_secrets', key: 'secret_hash', column }, now, signal)
  const codes = { table: 'authorization_codes', key: 'code_hash', column }
  await deleteUntil(db, codes, codesBefore, signal)
}

type Pending = { table: 'authorizations' | 'pushed_requests' | 'device_requests'; key: string }

const PENDING: Pending[] = [
  { table: 'authorizations', key: 'id' },
  { table: 'pushed_requests', key: 'request_hash' },
  { table: 'device_requests', key: 'device_hash' },
]

/** Keeps the newest of what awaits a user, whatever many networks together leave here. */
export async function deleteOldestPending(
  db: Db<IdentityTables>,
  most: number,
  signal: AbortSignal,
): Promise<void> {
  for (const { table, key } of PENDING) {
    const first = await db
      .selectFrom(table)
      .select('expires_at')
      .orderBy('expires_at', 'desc')
      .offset(most)
      .limit(1)
      .executeTakeFirst()
    const column = 'expires_at'
    if (first) await deleteUntil(db, { table, key, column }, new Date(first.expires_at), signal)
  }
}
