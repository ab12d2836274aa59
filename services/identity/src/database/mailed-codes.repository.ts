import { type Db, deleteUntil, type FromRow, fromRow, toRow } from '@plinth/kit/database'
import type { IdentityTables } from './tables.ts'

type CodeRow = IdentityTables['mailed_codes']

export type MailedCode = FromRow<CodeRow>

/** Replaces an earlier request under the same token, which asked for a code to another address. */
export async function insertCodeRequest(db: Db<IdentityTables>, code: MailedCode): Promise<void> {
  const row = toRow<CodeRow>(code)
  await db
    .insertInto('mailed_codes')
    .values(row)
    .onConflict((conflict) => conflict.column('request_hash').doUpdateSet(row))
    .execute()
}

export async function findCodeOfMail(
  db: Db<IdentityTables>,
  mailId: string,
): Promise<MailedCode | undefined> {
  const row = await db
    .selectFrom('mailed_codes')
    .selectAll()
    .where('mail_id', '=', mailId)
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function findCodeRequest(
  db: Db<IdentityTables>,
  { requestHash, kind }: Pick<MailedCode, 'requestHash' | 'kind'>,
): Promise<MailedCode | undefined> {
  const row = await db
    .selectFrom('mailed_codes')
    .selectAll()
    .where('request_hash', '=', requestHash)
    .where('kind', '=', kind)
    .executeTakeFirst()
  return row && fromRow(row)
}

/** Deletes the other codes that were mailed to the address: only the newest works. */
export async function saveCode(
  db: Db<IdentityTables>,
  { requestHash, kind, address }: Pick<MailedCode, 'requestHash' | 'kind' | 'address'>,
  codeHash: string,
): Promise<void> {
  await db
    .deleteFrom('mailed_codes')
    .where('address', '=', address)
    .where('kind', '=', kind)
    .where('request_hash', '<>', requestHash)
    .where('code_hash', 'is not', null)
    .execute()
  await db
    .updateTable('mailed_codes')
    .set({ code_hash: codeHash, failures: 0 })
    .where('request_hash', '=', requestHash)
    .execute()
}

/** Whether a code that was asked for later has been mailed to the address. */
export async function isOvertaken(
  db: Db<IdentityTables>,
  { kind, address, createdAt }: Pick<MailedCode, 'kind' | 'address' | 'createdAt'>,
): Promise<boolean> {
  const newer = await db
    .selectFrom('mailed_codes')
    .select('request_hash')
    .where('address', '=', address)
    .where('kind', '=', kind)
    .where('code_hash', 'is not', null)
    .where('created_at', '>', createdAt)
    .executeTakeFirst()
  return newer !== undefined
}

/** Counts a try in the statement that finds the code, so at most `most` concurrent tries see it. */
export async function tryMailedCode(
  db: Db<IdentityTables>,
  requestHash: string,
  most: number,
): Promise<(MailedCode & { codeHash: string }) | undefined> {
  const row = await db
    .updateTable('mailed_codes')
    .set(({ eb }) => ({ failures: eb('failures', '+', 1) }))
    .where('request_hash', '=', requestHash)
    .where('failures', '<', most)
    .where('used_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row?.code_hash ? { ...fromRow(row), codeHash: row.code_hash } : undefined
}

/** Takes back the count of a try with the right code. */
export async function forgiveMailedCode(
  db: Db<IdentityTables>,
  requestHash: string,
): Promise<void> {
  await db
    .updateTable('mailed_codes')
    .set(({ eb }) => ({ failures: eb('failures', '-', 1) }))
    .where('request_hash', '=', requestHash)
    .execute()
}

/** Only one of several concurrent uses of a code succeeds; none of one that was replaced meanwhile. */
export async function spendMailedCode(
  db: Db<IdentityTables>,
  { requestHash, codeHash }: { requestHash: string; codeHash: string },
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('mailed_codes')
    .set({ used_at: now.toISOString() })
    .where('request_hash', '=', requestHash)
    .where('code_hash', '=', codeHash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

export function deleteExpiredCodes(db: Db<IdentityTables>, now: Date, signal: AbortSignal) {
  const expired = { table: 'mailed_codes', key: 'request_hash', column: 'expires_at' }
  return deleteUntil(db, expired, now, signal)
}
