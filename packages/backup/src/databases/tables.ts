import { RESTORE_MARK } from '@plinth/kit'

export type Engine = 'sqlite' | 'postgres'

/** What our columns hold: numbers and text. */
export type Value = string | number | null

export type Row = Value[]

/** One connection to one database, with what both engines have in common. */
export type Connection = {
  engine: Engine
  run(sql: string, values?: Value[]): Promise<Record<string, Value>[]>
  /** Rows in batches, as arrays in the order of the columns. Within a transaction only. */
  stream(sql: string): AsyncIterable<Row[]>
  close(): Promise<void>
}

/** A database at one moment, whatever is written to it afterwards. */
export type Snapshot = Connection & {
  /** Keeps writers waiting until `release`, where the engine can. */
  lock(): Promise<void>
  pin(): Promise<void>
  release(): void
}

export type Table = {
  name: string
  columns: string[]
  /** The number that comes next, where the database counts one up. */
  next?: number
}

export type Applied = { name: string; version: Value }

/** What is known of a database before its rows are read: enough to make an empty one like it. */
export type Contents = {
  engine: Engine
  migrations: Applied[]
  tables: (Table & { rows: number })[]
}

/** Made in a database that is being filled: services refuse it until it is whole. */
export const MARK = RESTORE_MARK

/** Of the moment, and worth nothing in another one. */
const NOT_KEPT = new Set(['leases', MARK])

export function isKept(table: string): boolean {
  return !NOT_KEPT.has(table)
}

/** Names come from the schema; one of them, `values`, is a keyword. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
