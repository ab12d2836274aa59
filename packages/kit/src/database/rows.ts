import { type SelectQueryBuilder, sql } from 'kysely'
import type { Db } from './engine.ts'

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

/** A row as the code sees it: the column `created_at` is the property `createdAt`. */
export type FromRow<Row> = { [Column in keyof Row & string as CamelCase<Column>]: Row[Column] }

export function fromRow<Row extends object>(row: Row): FromRow<Row> {
  return renamed(row, properties, propertyOf) as FromRow<Row>
}

/** Every property becomes a column: `toRow<UserRow>(user)`. */
export function toRow<Row extends object>(value: FromRow<Row>): Row {
  return renamed(value, columns, columnOf) as Row
}

export type Sort = { property: string; direction: 'asc' | 'desc' }

export type PageRequest = { page: number; size: number; offset: number; sort: Sort[] }

/** Orders by properties; the caller must have checked that they are sortable. */
export function sortRows<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
  sorts: Sort[],
): SelectQueryBuilder<DB, TB, O> {
  return sorts.reduce(
    (sorted, { property, direction }) => sorted.orderBy(sql.ref(columnOf(property)), direction),
    query,
  )
}

type Nothing = Record<never, never>

type Rows<DB, TB extends keyof DB> = ReturnType<SelectQueryBuilder<DB, TB, Nothing>['selectAll']>

/** One page of the rows that match, in this order, and how many match in all. */
export async function selectPage<DB, TB extends keyof DB>(
  matching: SelectQueryBuilder<DB, TB, Nothing>,
  page: PageRequest,
  order: (rows: Rows<DB, TB>) => Rows<DB, TB>,
) {
  const { total } = await matching
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .$castTo<{ total: number }>()
    .executeTakeFirstOrThrow()
  const rows = await order(matching.selectAll()).limit(page.size).offset(page.offset).execute()
  return { rows, total }
}

function columnOf(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function propertyOf(column: string): string {
  return column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

type Names = Record<string, string>

const columns: Names = Object.create(null)

const properties: Names = Object.create(null)

/** Runs for every row that is read or written, so converted names are cached. */
function renamed(value: object, names: Names, nameOf: (name: string) => string): object {
  const from = value as Record<string, unknown>
  const result: Record<string, unknown> = {}
  for (const name in from) {
    names[name] ??= nameOf(name)
    result[names[name]] = from[name]
  }
  return result
}

const BATCH = 500

type Expiring = { table: string; key: string; column: string }

/**
 * Deletes the rows whose time is not after `before`, in small batches, so that no request waits long
 * for a sweep.
 */
export async function deleteUntil<T>(
  db: Db<T>,
  { table, key, column }: Expiring,
  before: Date,
  signal: AbortSignal,
): Promise<void> {
  const [rows, id, time] = [sql.table(table), sql.ref(key), sql.ref(column)]
  const batch = sql`delete from ${rows} where ${id} in (
    select ${id} from ${rows} where ${time} <= ${before.toISOString()}
    order by ${time} limit ${sql.lit(BATCH)})`
  let deleted: bigint | undefined = BigInt(BATCH)
  while (deleted === BigInt(BATCH) && !signal.aborted)
    deleted = (await batch.execute(db)).numAffectedRows
}
