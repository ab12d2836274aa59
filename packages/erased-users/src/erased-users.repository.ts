import type { Db, LeaseTables, Migration } from '@plinth/kit/database'

export type IssuerTables = LeaseTables & {
  /** The names seen for each user of a trusted issuer, so that they can be erased with the user. */
  issuer_users: { issuer: string; user_id: string; username: string }
  /** How far the list of users that an issuer has erased has been processed. */
  issuer_cursors: { issuer: string; place: string }
}

type IssuerDb = Db<IssuerTables>

type IssuerUser = { issuer: string; userId: string }

export async function insertUsername(
  db: IssuerDb,
  { issuer, userId, username }: IssuerUser & { username: string },
): Promise<void> {
  await db
    .insertInto('issuer_users')
    .values({ issuer, user_id: userId, username })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function listUsernames(db: IssuerDb, user: IssuerUser): Promise<string[]> {
  const rows = await db
    .selectFrom('issuer_users')
    .select('username')
    .where('issuer', '=', user.issuer)
    .where('user_id', '=', user.userId)
    .execute()
  return rows.map(({ username }) => username)
}

export async function deleteUsernames(db: IssuerDb, user: IssuerUser): Promise<void> {
  await db
    .deleteFrom('issuer_users')
    .where('issuer', '=', user.issuer)
    .where('user_id', '=', user.userId)
    .execute()
}

export async function findCursor(db: IssuerDb, issuer: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('issuer_cursors')
    .select('place')
    .where('issuer', '=', issuer)
    .executeTakeFirst()
  return row?.place
}

export async function saveCursor(db: IssuerDb, issuer: string, place: string): Promise<void> {
  await db
    .insertInto('issuer_cursors')
    .values({ issuer, place })
    .onConflict((conflict) => conflict.column('issuer').doUpdateSet({ place }))
    .execute()
}

export const issuerMigrations: Migration[] = [
  {
    name: 'issuer-0001-erased-users',
    async up(db) {
      await db.schema
        .createTable('issuer_users')
        .addColumn('issuer', 'text', (column) => column.notNull())
        .addColumn('user_id', 'text', (column) => column.notNull())
        .addColumn('username', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('issuer_users_key', ['issuer', 'user_id', 'username'])
        .execute()
      await db.schema
        .createTable('issuer_cursors')
        .addColumn('issuer', 'text', (column) => column.primaryKey())
        .addColumn('place', 'text', (column) => column.notNull())
        .execute()
    },
  },
]
