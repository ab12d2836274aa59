import { type FirstEvent, firstEventOf, insertFirstEvent } from '@plinth/events'
import { engineOf, inTransaction, lastly, prepared, toRow } from '@plinth/kit/database'
import { type RawBuilder, sql } from 'kysely'
import type { StorageDb } from '../../database/tables.ts'
import type { NewFile, StoredFile } from '../storage.ts'
import { insertWords, wordsOfInserted } from '../words.repository.ts'
import { FILES_TOGETHER, type NewRow, TYPES } from './files-together.repository.ts'
import {
  addUsage,
  NO_LIMIT,
  nextPart,
  PARTS,
  type Quota,
  subtractUsage,
  type Usage,
} from './usage.repository.ts'

const insert = prepared((db: StorageDb, row: NewRow) =>
  db.insertInto('files').values(row).returning('id'),
)

/**
 * Makes a file visible, together with its event, after its bytes are durable.
 * Returns undefined when the file would exceed the quota.
 */
export async function insertFile(
  db: StorageDb,
  file: NewFile,
  { quota, event }: { quota: Quota; event: FirstEvent },
): Promise<StoredFile | undefined> {
  const row = rowOf(file)
  const inserted =
    engineOf(db) === 'postgres'
      ? ((await insertInPart(db, { ...row, ...event }, quota)) ??
        (await insertLocked(db, { ...row, ...event }, quota)))
      : await insertInOneTotal(db, row, { quota, event })
  if (!inserted) return undefined
  const unchanged = { formerFolder: null, tags: [], metadata: {}, updatedAt: file.createdAt }
  const { foldedName: _name, words: _words, ...known } = file
  return { ...known, ...NEW, ...FIRST_VERSION, ...unchanged, id: inserted.id }
}

const NEW = { state: 'stored', thumbnail: 'none' } as const
const FIRST_VERSION = { version: 1, replacedAt: null }

function rowOf({ location, folder: _path, ...known }: NewFile): NewRow {
  return toRow<NewRow>({ ...known, ...NEW, locationId: location.id })
}

class OverQuotaError extends Error {}

/** SQLite has a single writer, so one row with the owner's total causes no extra waiting. */
async function insertInOneTotal(
  db: StorageDb,
  row: NewRow,
  { quota, event }: { quota: Quota; event: FirstEvent },
) {
  const inserting = inTransaction(db, async (transaction) => {
    const inserted = await insertRow(transaction, row, event)
    const usage = { files: 1, bytes: row.size_bytes }
    if (!(await addUsage(transaction, row.owner_id, usage, quota))) throw new OverQuotaError()
    return inserted
  })
  return inserting.catch((error) => {
    if (error instanceof OverQuotaError) return undefined
    throw error
  })
}

/** SQLite only. */
async function insertRow(transaction: StorageDb, row: NewRow, event: FirstEvent) {
  const [inserted] = await insert(transaction, row)
  if (!inserted) return undefined
  await insertWords(transaction, { id: inserted.id, ownerId: row.owner_id, words: row.words })
  await insertFirstEvent(transaction, event, inserted.id)
  return inserted
}

/** The most each part may hold, so that the parts together never exceed the quota. */
type Share = { shareFiles: number; shareBytes: number }

function shareOf({ files = NO_LIMIT, bytes = NO_LIMIT }: Quota): Share {
  return { shareFiles: Math.floor(files / PARTS), shareBytes: Math.floor(bytes / PARTS) }
}

type RowWithEvent = NewRow & FirstEvent

/** The end of a `with` statement: inserts the file, once for each row of `from`, and its event. */
function insertWithEvent(
  rowWithEvent: RowWithEvent,
  from: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const { eventId, eventType, eventAt, subjectPrefix, eventData, traceparent, ...row } =
    rowWithEvent
  const columns = Object.keys(row).map((column) => sql.ref(column))
  // PostgreSQL takes an untyped parameter of a `select` for text.
  const values = Object.entries(row).map(
    ([column, value]) => sql`cast(${value} as ${sql.raw(TYPES[column as keyof NewRow])})`,
  )
  return sql`stored as (
      insert into files (${sql.join(columns)}) select ${sql.join(values)} ${from}
      returning id, owner_id, words),
    found as (${sql.raw(wordsOfInserted('stored'))}),
    published as (${firstEventOf(rowWithEvent, 'stored')})
    select id from stored`
}

type CountedRow = RowWithEvent & Share & { part: number }

/** A single statement, so it needs no transaction around it. `own` is the part that is incremented. */
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
      ${insertWithEvent(row, sql`from counted`)}`
    return { compile: () => statement.compile(db) }
  }, together)

type Conditions = { before: RawBuilder<unknown>; during: RawBuilder<unknown> }

/** For uploads without a quota. */
const counted = countedWith(() => ({ before: sql``, during: sql`` }), FILES_TOGETHER)

/**
 * Inserts nothing if another part is above its share, or an earlier version left a total in one row:
 * the sum could exceed the quota, so `insertLocked` decides. No part grows above its share meanwhile.
 */
const countedWithinShare = countedWith((owner, { shareFiles, shareBytes }) => ({
  before: sql`where not exists (
      select from file_total_parts
      where owner_id = ${owner} and (total > ${shareFiles} or bytes > ${shareBytes}))
    and not exists (
      select from file_totals where owner_id = ${owner} and (total > 0 or bytes > 0))`,
  during: sql`where own.total < ${shareFiles} and own.bytes + excluded.bytes <= ${shareBytes}`,
}))

/** Increments a single part, so that uploads of one owner do not wait for each other's commit. */
async function insertInPart(db: StorageDb, row: RowWithEvent, quota: Quota) {
  const share = shareOf(quota)
  if (share.shareFiles < 1 || row.size_bytes > share.shareBytes) return undefined
  const isLimited = quota.files !== undefined || quota.bytes !== undefined
  const insertCounted = isLimited ? countedWithinShare : counted
  const [inserted] = await insertCounted(db, { ...row, ...share, part: nextPart() })
  return inserted
}

type Owner = { owner: string }

/** Creates all missing parts; waits for a part that another upload is just inserting. */
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

const insertUncounted = prepared((db: StorageDb, row: RowWithEvent) => {
  const statement = sql<{ id: number }>`with ${insertWithEvent(row, sql``)}`
  return { compile: () => statement.compile(db) }
})

/**
 * Checks the quota with all parts locked, and spreads the total evenly over them, so that each has room
 * again as long as there is any. Returns false, and counts nothing, when the file would exceed the quota.
 */
async function countLocked(
  transaction: StorageDb,
  { owner, added }: { owner: string; added: Usage },
  { files: mostFiles = NO_LIMIT, bytes: mostBytes = NO_LIMIT }: Quota,
): Promise<boolean> {
  const [, parts, total] = await Promise.all([
    createParts(transaction, { owner }),
    lockParts(transaction, { owner }),
    lockTotal(transaction, { owner }),
  ])
  let { files, bytes } = added
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

/** Makes a file visible, together with its event, that `reserveRoom` has counted already. Returns its id. */
export async function insertReserved(
  transaction: StorageDb,
  file: NewFile,
  event: FirstEvent,
): Promise<number> {
  const row = rowOf(file)
  const inserted =
    engineOf(transaction) === 'postgres'
      ? (await insertUncounted(transaction, { ...row, ...event }))[0]
      : await insertRow(transaction, row, event)
  if (!inserted) throw new Error('The file was not inserted')
  return inserted.id
}

async function insertLocked(db: StorageDb, row: RowWithEvent, quota: Quota) {
  return inTransaction(db, async (transaction) => {
    const added = { files: 1, bytes: row.size_bytes }
    if (!(await countLocked(transaction, { owner: row.owner_id, added }, quota))) return undefined
    return lastly(insertUncounted(transaction, row).then(([inserted]) => inserted))
  })
}

/**
 * Counts a file that is made visible again, or one that is yet to arrive; without `files`, only its bytes. Call it in
 * the transaction of that change. False when it would exceed the quota.
 */
export async function reserveRoom(
  db: StorageDb,
  ownerId: string,
  added: Usage,
  quota: Quota,
): Promise<boolean> {
  // An owner who has too many files already may still change those.
  const limits = added.files === 0 ? { ...quota, files: undefined } : quota
  return engineOf(db) === 'postgres'
    ? countLocked(db, { owner: ownerId, added }, limits)
    : addUsage(db, ownerId, added, limits)
}

/** Counts that the files of an owner have grown or shrunk. They may always shrink. */
export async function changeBytes(
  db: StorageDb,
  ownerId: string,
  added: number,
  quota: Quota,
): Promise<boolean> {
  if (added > 0) return reserveRoom(db, ownerId, { files: 0, bytes: added }, quota)
  if (added < 0) await subtractUsage(db, ownerId, { files: 0, bytes: -added })
  return true
}
