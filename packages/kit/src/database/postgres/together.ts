import type { CompiledQuery } from 'kysely'

/**
 * One statement for many that differ only in their values, which it gets as a list in JSON. Written
 * for what Kysely makes of the statements of a repository; any other stays as it is.
 */
export type Together = {
  sql: string
  /** What the list calls each value, in the order of the parameters. */
  names: string[]
  /** Two statements with the same values of these cannot be one. */
  keys: string[]
}

/** Which of the statements a row is an answer to. */
const NUMBER = 'member_number'

export function togetherOf({ sql, parameters }: CompiledQuery): Together | undefined {
  return selectTogether(sql, parameters) ?? insertTogether(sql)
}

/**
 * The statement itself, once for each. `offset 0` keeps the planner from making a join of it: that
 * reads the whole of a table which was small when it was planned.
 */
function selectTogether(text: string, parameters: readonly unknown[]): Together | undefined {
  if (!text.startsWith('select ') || parameters.includes(null)) return undefined
  const names = parameters.map((_, place) => `p${place + 1}`)
  const columns = names.map((name, place) => `${name} ${typeOf(parameters[place])}`)
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

/** What it returns says which of the statements has inserted its row. */
function insertTogether(text: string): Together | undefined {
  const [, table, columns = '', end = ''] = INSERT.exec(text) ?? []
  if (!table) return undefined
  const names = namesIn(columns)
  const keys = namesIn(/ returning (.*)$/.exec(end)?.[1] ?? '')
  if (!keys.every((key) => names.includes(key))) return undefined
  // All columns, by which no row can be told from another.
  if (end.includes(' returning ') && keys.length === 0) return undefined
  // Values get the types of the columns.
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

/** Several statements of one text as one, and which of its rows answer each of them. */
type Joint<Q> = { query: Q; answers(rows: Row[]): Row[][] }

/** What tells a statement from another that may become one with it. */
export function memberKey({ names, keys }: Together, values: readonly unknown[]): string {
  return keyOf(rowOf(names, values, 0), keys)
}

/** Nothing where these statements cannot be one. */
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
  for (const [place, name] of names.entries()) row[name] = values[place]
  return row
}

function keyOf(row: Row, keys: string[]): string {
  return keys.map((key) => String(row[key])).join('\0')
}

/** Bytes and times would become something else. */
function isJson(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function withoutNumber({ [NUMBER]: _, ...row }: Row): Row {
  return row
}
