import { number, type Row } from '../harness/row.ts'
import { ROWS } from '../harness/settings.ts'
import { partsRow } from '../identity/growth.ts'
import { withIdentity } from '../identity/service.ts'
import { seed } from '../identity/users.ts'
import type { DatabaseNamed } from './databases.ts'

/** Administrators look for users by what they remember of a name. */
export async function users(databaseNamed: DatabaseNamed, folder: string): Promise<Row[]> {
  const url = await databaseNamed('users')
  const env = { IDENTITY_DATABASE_URL: url, IDENTITY_MASTER_KEY: await seed(url, ROWS, folder) }
  const what = `GET /api/users?contains=… with ${number(ROWS)} users on PostgreSQL, against q=…`
  return withIdentity(async (identity) => [await partsRow(identity, what)], env)
}
