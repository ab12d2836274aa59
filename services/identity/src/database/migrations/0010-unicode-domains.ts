import { normalName } from '@plinth/accounts'
import type { Migration } from '@plinth/kit/database'
import type { Kysely } from 'kysely'

/** The addresses beside those of the accounts, which `accounts-0010-unicode-domains` has changed before. */
export const unicodeDomains: Migration = {
  name: 'identity-0010-unicode-domains',
  async up(db) {
    for (const table of ['one_time_tokens', 'mail_outbox'])
      for (const { from, to } of await listRenamed(db, { table, column: 'address' }))
        await db
          .updateTable(table)
          .set({ address: to })
          .where('address', '=', from)
          .where(({ not, exists, selectFrom }) =>
            // An account that has kept its form: it is mailed in that form, and proves it.
            not(
              exists(
                selectFrom('users')
                  .select('users.id')
                  .whereRef('users.id', '=', `${table}.user_id`)
                  .where('users.email', '=', from),
              ),
            ),
          )
          .execute()
    // An erasure ends the keys of the user, and must find them by name.
    for (const table of ['service_keys', 'event_endpoints'])
      for (const { from, to } of await listRenamed(db, { table, column: 'created_by' }))
        await db
          .updateTable(table)
          .set({ created_by: to })
          .where('created_by', '=', from)
          .where(({ not, exists, selectFrom }) =>
            not(exists(selectFrom('users').select('id').where('username', '=', from))),
          )
          .execute()
    const table = 'held_registrations'
    for (const column of ['address', 'username'])
      for (const { from, to } of await listRenamed(db, { table, column }))
        await db
          .updateTable(table)
          .set({ [column]: to })
          .where(column, '=', from)
          .execute()
  },
}

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day
type Schema = Kysely<any>

async function listRenamed(db: Schema, { table, column }: { table: string; column: string }) {
  const rows = await db
    .selectFrom(table)
    .select(`${column} as from`)
    .distinct()
    .where(column, 'like', '%@%xn--%')
    .execute()
  return rows
    .map(({ from }) => ({ from: from as string, to: normalName(from) }))
    .filter(({ from, to }) => from !== to)
}
