import { RESTORE_MARK } from '@plinth/kit/runtime'

export type Engine = 'sqlite' | 'postgres'

/** Our columns hold only numbers and text. */
export type Value = string | number | null

export type Row = Value[]

/** A connection to one database: the operations that both engines share. */
export type Connection = {
  engine: Engine
  run(sql: string, values?: Value[]): Promise<Record<string, Value>[]>
  /** Rows in batches, as arrays in the order of the columns. Only within a transaction. */
  stream(sql: string): AsyncIterable<Row[]>
  close(): Promise<void>
}

/** A database at one moment, whatever is written to it afterwards. */
export type Snapshot = Connection & {
  /** Blocks writers until `release`; does nothing on PostgreSQL. */
  lock(): Promise<void>
  pin(): Promise<void>
  release(): void
}

export type Table = {
  name: string
  columns: string[]
  /** The next value of the auto-increment column, if the table has one. */
  next?: number
}

export type Applied = { name: string; version: Value }

/** Describes a database without its rows: enough to create an empty one like it. */
export type Contents = {
  engine: Engine
  migrations: Applied[]
  tables: (Table & { rows: number })[]
}

/** A table that exists while a database is being filled: a service that finds it refuses to start. */
export const MARK = RESTORE_MARK

/** Tables of transient state, which means nothing after a restore. */
const NOT_KEPT = new Set(['leases', MARK])

export function isKept(table: string): boolean {
  return !NOT_KEPT.has(table)
}

/** Names come from the schema; one of them, `values`, is a keyword. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
