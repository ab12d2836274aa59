import type { Row } from '../harness/row.ts'
import { withDatabases } from './databases.ts'
import { files } from './files.ts'
import { nodes } from './nodes.ts'
import { payments } from './payments.ts'
import { sessions } from './sessions.ts'

/** The services on PostgreSQL, beside SQLite and beside what the server could give in the same run. */
export function postgres(folder: string): Promise<Row[]> {
  return withDatabases(async (databaseNamed) => [
    ...(await sessions(databaseNamed)),
    ...(await files(databaseNamed, folder)),
    ...(await payments(databaseNamed)),
    ...(await nodes(databaseNamed)),
  ])
}
