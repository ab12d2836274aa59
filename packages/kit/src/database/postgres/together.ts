import type { CompiledQuery } from 'kysely'

/**
 * One statement in place of many that differ only in their values, which it gets as a JSON list. Supports
 * the SQL that Kysely generates for our repositories; any other statement is left alone.
 */
export type Together = {
  sql: string
  /** The name of each value in the JSON list, in the order of the parameters. */
  names: string[]
  /** Two statements with the same values for these cannot be merged. */
  keys: string[]
}

/** The column with the number of the statement that a row belongs to. */
const NUMBER = 'member_number'

export function togetherOf({ sql, parameters }: CompiledQuery): Together | undefined {
  return selectTogether(sql, parameters) ?? insertTogether(sql)
}

/**
 * Runs the statement once for each member. `offset 0` keeps the planner from turning it into a join,
 * which scans the whole table if the table was small when the statement was planned.
 */
function selectTogether(text: string, parameters: readonly unknown[]): Together | undefined {
  if (!text.startsWith('select ') || parameters.includes(null)) return undefined
  const names = parameters.map((_, index) => `p${index + 1}`)
  const columns = names.map((name, index) => `${name} ${typeOf(parameters[index])}`)
  const sql = `select member.n as ${NUMBER}, found.*
    from json_to_recordset($1) as member (${['n integer', ...columns].join(', ')}),
    lateral (select * from (${text.replace(/\$(\d+)/g, 'member.p$1')}) as one offset 0) as found`
  return { sql, names, keys: [] }
}

function typeOf(value: unknown): string {
  if (typeof value === 'number') return 'bigint'
  return typeof value === 'boolean' ? 'boolean' : 'text'
}

const INSERT = /^insert into ("\w+") \(([^()]+)\) values \([$\d, ]+\)([^$]*)$/

/** The returned columns tell which of the statements has inserted its row. */
function insertTogether(text: string): Together | undefined {
  const [, table, columns = '', end = ''] = INSERT.exec(text) ?? []
  if (!table) return undefined
  const names = namesIn(columns)
  const keys = namesIn(/ returning (.*)$/.exec(end)?.[1] ?? '')
  if (!keys.every((key) => names.includes(key))) return undefined
  // `returning *` names no columns that tell the rows apart.
  if (end.includes(' returning ') && keys.length === 0) return undefined
  // Gives the values the types of the columns.
  const rows = `json_populate_recordset(cast(null as ${table}), $1)`
  return {
    sql: `insert into ${table} (${columns}) select ${columns} from ${rows}${end}`,
    names,
    keys,
  }
}

function namesIn(text: string): string[] {
  return Array.from(text.matchAll(/"(\w+)"/g), ([, name = '']) => name)
}

type Row = Record<string, unknown>

type Query = { sql: string; parameters: readonly unknown[]; together: Together | undefined }

/** Several statements with the same SQL merged into one; `answers` splits its rows by statement again. */
type Joint<Q> = { query: Q; answers(rows: Row[]): Row[][] }

/** Identifies a statement in its group: two with the same key cannot be merged. */
export function memberKey({ names, keys }: Together, values: readonly unknown[]): string {
  return keyOf(rowOf(names, values, 0), keys)
}

/** Nothing if these statements cannot be merged. */
export function jointOf<Q extends Query>(queries: readonly Q[]): Joint<Q> | undefined {
  const [query] = queries
  if (!query?.together) return undefined
  const { sql, names, keys } = query.together
  const all = queries.map(({ parameters }) => parameters)
  const rows = all.map((values, n) => rowOf(names, values, n))
  const ids = rows.map((row) => keyOf(row, keys))
  if (keys.length > 0 && new Set(ids).size < ids.length) return undefined
  if (!all.every((values) => values.every(isJson))) return undefined
  return {
    query: { ...query, sql, parameters: [JSON.stringify(rows)] },
    answers: (found) => {
      const isNumbered = found[0] !== undefined && NUMBER in found[0]
      const byMember = Map.groupBy(found, (row) => (isNumbered ? row[NUMBER] : keyOf(row, keys)))
      return ids.map((id, n) => (byMember.get(isNumbered ? n : id) ?? []).map(withoutNumber))
    },
  }
}

function rowOf(names: string[], values: readonly unknown[], n: number): Row {
  const row: Row = { n }
  for (const [index, name] of names.entries()) row[name] = values[index]
  return row
}

function keyOf(row: Row, keys: string[]): string {
  return keys.map((key) => String(row[key])).join('\0')
}

/** Buffers and dates would not survive JSON. */
function isJson(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function withoutNumber({ [NUMBER]: _, ...row }: Row): Row {
  return row
}
