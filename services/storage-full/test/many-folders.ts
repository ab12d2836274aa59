import type { StorageDb } from '../src/database/tables.ts'

/** As many as one owner may have. */
export const MAX_FOLDERS = 10_000

/** `/0`, `/1` and so on, without the requests. */
export async function insertFolders(
  db: StorageDb,
  ownerId: string,
  folders: number,
): Promise<void> {
  for (let first = 0; first < folders; first += 1_000)
    await db
      .insertInto('folders')
      .values(
        Array.from({ length: Math.min(1_000, folders - first) }, (_, n) => ({
          owner_id: ownerId,
          parent_id: null,
          path: `/${first + n}`,
          created_at: '2026-11-15T12:00:00.000Z',
        })),
      )
      .execute()
}
