import type { Migration } from '@plinth/kit/database'
import type { Kysely } from 'kysely'

const NAMES = ['username', 'email'] as const

/** Names are looked up in NFC. If normalising would make two names equal, one keeps its old form. */
export const composedNames: Migration = {
  name: 'accounts-0002-composed-names',
  async up(db) {
    const users = await db
      .selectFrom('users')
      .select(['id', ...NAMES])
      .execute()
    for (const user of users)
      for (const name of NAMES) {
        const composed = user[name].normalize('NFC')
        if (composed !== user[name]) await rename(db, user.id, { name, composed })
      }
  },
}

async function rename(
  // biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day
  db: Kysely<any>,
  id: number,
  { name, composed }: { name: string; composed: string },
): Promise<void> {
  await db
    .updateTable('users')
    .set({ [name]: composed })
    .where('id', '=', id)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('users as other').select('id').where(`other.${name}`, '=', composed))),
    )
    .execute()
}
