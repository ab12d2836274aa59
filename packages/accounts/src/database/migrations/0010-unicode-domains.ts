import type { Migration } from '@plinth/kit/database'
import { type Kysely, sql } from 'kysely'
import { normalName } from '../names.ts'

const NAMES = ['username', 'email'] as const

/** Addresses are looked up with their domain in Unicode. If the Unicode form is taken, an account keeps the other. */
export const unicodeDomains: Migration = {
  name: 'accounts-0010-unicode-domains',
  async up(db) {
    const users = await db
      .selectFrom('users')
      .select(['id', ...NAMES])
      .where(({ or, eb }) => or(NAMES.map((name) => eb(name, 'like', '%@%xn--%'))))
      .orderBy('id')
      .execute()
    for (const user of users)
      for (const name of NAMES) {
        const [from, to] = [user[name], normalName(user[name])]
        if (from === to || !(await rename(db, user.id, { name, to }))) continue
        if (name === 'username') await renameInAudit(db, from, to)
      }
  },
}

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day
type Schema = Kysely<any>

async function rename(
  db: Schema,
  id: number,
  { name, to }: { name: string; to: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ [name]: to })
    .where('id', '=', id)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('users as other').select('id').where(`other.${name}`, '=', to))),
    )
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/**
 * An erasure removes the user's name from the audit, and must find it there. The first statement changes every row
 * about the user, so that the second can use the index of actors, which has only rows about others.
 */
async function renameInAudit(db: Schema, from: string, to: string): Promise<void> {
  const actor = sql`case actor when ${from} then ${to} else actor end`
  const about = db.updateTable('audit_events').set({ subject: to, actor })
  await about.where('subject', '=', from).execute()
  const by = db.updateTable('audit_events').set({ actor: to }).where('actor', '=', from)
  await by.where(sql<boolean>`actor <> subject`).execute()
}
