import { type Migration, openDatabase } from '@plinth/kit/database'
import { revokeAllSessions } from './database/ended-sessions.repository.ts'
import type { AccountTables } from './database/tables.ts'
import type { AccountSettings } from './settings.ts'

type HostData = { databaseUrl: string; accounts: AccountSettings }

type Schema = { migrations: Migration[]; sealed: Record<string, Record<string, true>> }

/** What a backup of a host must contain: its database, and the master key that seals values in it. */
export function accountData(
  name: string,
  prefix: string,
  { databaseUrl: url, accounts }: HostData,
  { migrations, sealed }: Schema,
) {
  const setting = `${prefix}DATABASE_URL`
  return {
    name,
    database: { url, setting, migrations, sealed, afterRestore: endSessionsIn(migrations) },
    keys: { [`${prefix}MASTER_KEY`]: accounts.masterKey },
  }
}

/** Without this, a session that ended since the backup would be active again, with its refresh token. */
function endSessionsIn(migrations: Migration[]) {
  return async (url: string, { keepSessions }: { keepSessions: boolean }) => {
    const database = await openDatabase<AccountTables>(url, migrations, { restoring: true })
    try {
      if (!keepSessions) await revokeAllSessions(database.db)
    } finally {
      await database.close()
    }
  }
}
