import { type Db, prepared } from '@plinth/kit/database'
import type { Client } from './clients.repository.ts'
import type { IdentityTables } from './tables.ts'

type ClientDocument = { client: Client; fetchedAt: Date }

const byId = prepared((db: Db<IdentityTables>, { clientId }: { clientId: string }) =>
  db.selectFrom('client_documents').selectAll().where('client_id', '=', clientId),
)

export async function findDocument(
  db: Db<IdentityTables>,
  clientId: string,
): Promise<ClientDocument | undefined> {
  const [row] = await byId(db, { clientId })
  return row && { client: JSON.parse(row.client), fetchedAt: new Date(row.fetched_at) }
}

/** Of two nodes that fetch a document at the same time, the later one prevails. */
export async function saveDocument(
  db: Db<IdentityTables>,
  { client, fetchedAt }: ClientDocument,
): Promise<void> {
  const row = { client: JSON.stringify(client), fetched_at: fetchedAt.toISOString() }
  await db
    .insertInto('client_documents')
    .values({ client_id: client.clientId, ...row })
    .onConflict((conflict) => conflict.column('client_id').doUpdateSet(row))
    .execute()
}

export async function listDocumentNames(
  db: Db<IdentityTables>,
  clientIds: string[],
): Promise<Map<string, string>> {
  if (clientIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('client_documents')
    .selectAll()
    .where('client_id', 'in', clientIds)
    .execute()
  return new Map(rows.map(({ client_id, client }) => [client_id, JSON.parse(client).name]))
}

const MAX_DELETED = 1000

/** Those whose client no user has allowed anything. */
export async function deleteUnusedDocuments(
  db: Db<IdentityTables>,
  fetchedBefore: Date,
): Promise<void> {
  await db
    .deleteFrom('client_documents')
    .where('client_id', 'in', (eb) =>
      eb
        .selectFrom('client_documents as old')
        .select('old.client_id')
        .where('old.fetched_at', '<', fetchedBefore.toISOString())
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('grants')
                .select('grants.client_id')
                .whereRef('grants.client_id', '=', 'old.client_id'),
            ),
          ),
        )
        .orderBy('old.fetched_at')
        .limit(MAX_DELETED),
    )
    // Fetched again since.
    .where('fetched_at', '<', fetchedBefore.toISOString())
    .execute()
}

/** Clients that registered themselves, and that no user has allowed anything. */
export async function deleteUnusedRegistrations(
  db: Db<IdentityTables>,
  createdBefore: Date,
): Promise<void> {
  await db
    .deleteFrom('clients')
    .where('self_registered', '=', 1)
    .where('created_at', '<', createdBefore.toISOString())
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('grants')
            .select('grants.client_id')
            .whereRef('grants.client_id', '=', 'clients.client_id'),
        ),
      ),
    )
    .execute()
}
