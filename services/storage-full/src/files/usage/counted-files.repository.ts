import { type FirstEvent, firstEventOf, insertFirstEvent } from '@plinth/events'
import { engineOf, inTransaction, lastly, prepared, toRow } from '@plinth/kit'
import { type RawBuilder, sql } from 'kysely'
import type { StorageDb } from '../../database/tables.ts'
import type { NewFile, StoredFile } from '../storage.ts'
import { FILES_TOGETHER, type NewRow } from './files-together.repository.ts'
import { addUsage, nextPart, PARTS, type Quota } from './usage.repository.ts'

const insert = prepared((db: StorageDb, row: NewRow) =>
  db.insertInto('files').values(row).returning('id'),
)

/**
 * The file becomes visible here, after its bytes are durable, and its event with it.
 * Nothing, when it is over the quota.
 */
export async function insertFile(
  db: StorageDb,
  file: NewFile,
  { quota, event }: { quota: Quota; event: FirstEvent },
): Promise<StoredFile | undefined> {
  const { location, ...known } = file
  const state = { state: 'stored', thumbnail: 'none' } as const
  const row = toRow<NewRow>({ ...known, ...state, locationId: location.id })
  const inserted =
    engineOf(db) === 'postgres'
      ? ((await insertInPart(db, { ...row, ...event }, quota)) ??
        (await insertAtEdge(db, { ...row, ...event }, quota)))
      : await insertInOneTotal(db, row, { quota, event })
  return inserted && { ...file, ...state, id: inserted.id }
}

class NoRoom extends Error {}

/** SQLite has one writer, so that a total of the owner in one row makes nothing wait. */
async function insertInOneTotal(
  db: StorageDb,
  row: NewRow,
  { quota, event }: { quota: Quota; event: FirstEvent },
) {
  const inserting = inTransaction(db, async (transaction) => {
    const [inserted] = await insert(transaction, row)
    if (inserted) await insertFirstEvent(transaction, event, inserted.id)
    const usage = { files: 1, bytes: row.size_bytes }
    if (!(await addUsage(transaction, row.owner_id, usage, quota))) throw new NoRoom()
    return inserted
  })
  return inserting.catch((error) => {
    if (error instanceof NoRoom) return undefined
    throw error
  })
}

/** What each part may hold at most; the parts together then never exceed the quota. */
type Share = { shareFiles: number; shareBytes: number }

const NO_LIMIT = Number.MAX_SAFE_INTEGER

function shareOf({ files = NO_LIMIT, bytes = NO_LIMIT }: Quota): Share {
  return { shareFiles: Math.floor(files / PARTS), shareBytes: Math.floor(bytes / PARTS) }
}

type ToldRow = NewRow & FirstEvent

const NUMBERS = new Set(['size_bytes', 'location_id'])

/** The parts of a statement that insert the file, once for each row of `from`, and its event. */
function insertTold(told: ToldRow, from: RawBuilder<unknown>): RawBuilder<unknown> {
  const { eventId, eventType, eventAt, subjectPrefix, traceparent, ...withData } = told
  const { dataStart, dataEnd, ...row } = withData
  const columns = Object.keys(row).map((column) => sql.ref(column))
  const values = Object.entries(row).map(([column, value]) =>
    NUMBERS.has(column) ? sql`cast(${value} as bigint)` : sql`${value}`,
  )
  return sql`stored as (
      insert into files (${sql.join(columns)}) select ${sql.join(values)} ${from} returning id),
    told as (${firstEventOf(told, 'stored')})
    select id from stored`
}

type CountedRow = ToldRow & Share & { part: number }

/** One statement, which is a transaction of its own. `own` is the part that is counted in. */
const countedWith = (
  conditions: (owner: string, share: Share) => Conditions,
  together?: typeof FILES_TOGETHER,
) =>
  prepared((db: StorageDb, { part, shareFiles, shareBytes, ...row }: CountedRow) => {
    const { owner_id: owner, size_bytes: bytes } = row
    const { before, during } = conditions(owner, { shareFiles, shareBytes })
    const statement = sql<{ id: number }>`
      with counted as (
        insert into file_total_parts as own (owner_id, part, total, bytes)
        select ${owner}, cast(${part} as integer), 1, cast(${bytes} as bigint) ${before}
        on conflict (owner_id, part) do update
        set total = own.total + 1, bytes = own.bytes + excluded.bytes ${during}
        returning part),
      ${insertTold(row, sql`from counted`)}`
    return { compile: () => statement.compile(db) }
  }, together)

type Conditions = { before: RawBuilder<unknown>; during: RawBuilder<unknown> }

/** Without a quota. */
const counted = countedWith(() => ({ before: sql``, during: sql`` }), FILES_TOGETHER)

/**
 * Another part above its share, or a total that an earlier version left in one row, could make the
 * sum too large: `insertAtEdge` decides then. No part grows above its share in the meantime.
 */
const countedWithinShare = countedWith((owner, { shareFiles, shareBytes }) => ({
  before: sql`where not exists (
      select from file_total_parts
      where owner_id = ${owner} and (total > ${shareFiles} or bytes > ${shareBytes}))
    and not exists (
      select from file_totals where owner_id = ${owner} and (total > 0 or bytes > 0))`,
  during: sql`where own.total < ${shareFiles} and own.bytes + excluded.bytes <= ${shareBytes}`,
}))

/** Counts in one part alone, so that uploads of one owner do not wait for each other's commit. */
async function insertInPart(db: StorageDb, row: ToldRow, quota: Quota) {
  const share = shareOf(quota)
  if (share.shareFiles < 1 || row.size_bytes > share.shareBytes) return undefined
  const isLimited = quota.files !== undefined || quota.bytes !== undefined
  const insertCounted = isLimited ? countedWithinShare : counted
  const [inserted] = await insertCounted(db, { ...row, ...share, part: nextPart() })
  return inserted
}

type Owner = { owner: string }

/** All of them: a part that another upload is just inserting is waited for. */
const createParts = prepared((db: StorageDb, { owner }: Owner) => ({
  compile: () =>
    sql`insert into file_total_parts (owner_id, part, total, bytes)
      select ${owner}, part, 0, 0 from generate_series(0, ${sql.lit(PARTS - 1)}) part
      on conflict do nothing`.compile(db),
}))

const lockParts = prepared((db: StorageDb, { owner }: Owner) =>
  db
    .selectFrom('file_total_parts')
    .select(['total', 'bytes'])
    .where('owner_id', '=', owner)
    .orderBy('part')
    .forUpdate(),
)

const lockTotal = prepared((db: StorageDb, { owner }: Owner) =>
  db.selectFrom('file_totals').select(['total', 'bytes']).where('owner_id', '=', owner).forUpdate(),
)

const clearTotal = prepared((db: StorageDb, { owner }: Owner) =>
  db.updateTable('file_totals').set({ total: 0, bytes: 0 }).where('owner_id', '=', owner),
)

type Spread = Owner & { files: number; moreFiles: number; bytes: number; moreBytes: number }

const spread = prepared((db: StorageDb, { owner, files, moreFiles, bytes, moreBytes }: Spread) =>
  db
    .updateTable('file_total_parts')
    .set({
      total: sql`cast(${files} as bigint) + case when part < ${moreFiles} then 1 else 0 end`,
      bytes: sql`cast(${bytes} as bigint) + case when part < ${moreBytes} then 1 else 0 end`,
    })
    .where('owner_id', '=', owner),
)

const insertUncounted = prepared((db: StorageDb, row: ToldRow) => {
  const statement = sql<{ id: number }>`with ${insertTold(row, sql``)}`
  return { compile: () => statement.compile(db) }
})

/**
 * Decides with all parts locked, and spreads the total over them evenly, so that there is room in
 * each of them again as long as there is room at all. False, and nothing is counted, when there is none.
 */
async function countAtEdge(
  transaction: StorageDb,
  { owner_id: owner, size_bytes }: Pick<NewRow, 'owner_id' | 'size_bytes'>,
  { files: mostFiles = NO_LIMIT, bytes: mostBytes = NO_LIMIT }: Quota,
): Promise<boolean> {
  const [, parts, total] = await Promise.all([
    createParts(transaction, { owner }),
    lockParts(transaction, { owner }),
    lockTotal(transaction, { owner }),
  ])
  let [files, bytes] = [1, size_bytes]
  for (const counted of [...parts, ...total]) {
    files += counted.total
    bytes += counted.bytes
  }
  if (files > mostFiles || bytes > mostBytes) return false
  await clearTotal(transaction, { owner })
  await spread(transaction, {
    owner,
    files: Math.floor(files / PARTS),
    moreFiles: files % PARTS,
    bytes: Math.floor(bytes / PARTS),
    moreBytes: bytes % PARTS,
  })
  return true
}

async function insertAtEdge(db: StorageDb, row: ToldRow, quota: Quota) {
  return inTransaction(db, async (transaction) => {
    if (!(await countAtEdge(transaction, row, quota))) return undefined
    return lastly(insertUncounted(transaction, row).then(([inserted]) => inserted))
  })
}

/** In the transaction that shows the file again; false when it is over the quota. */
export async function countRestored(
  db: StorageDb,
  { ownerId, sizeBytes }: StoredFile,
  quota: Quota,
): Promise<boolean> {
  return engineOf(db) === 'postgres'
    ? countAtEdge(db, { owner_id: ownerId, size_bytes: sizeBytes }, quota)
    : addUsage(db, ownerId, { files: 1, bytes: sizeBytes }, quota)
}
