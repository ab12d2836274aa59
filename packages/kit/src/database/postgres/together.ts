/** One statement in place of many that differ only in their values, which it gets as a JSON list. */
export type Together = {
  sql: string
  /** The name of each value in the JSON list, in the order of the parameters. */
  names: string[]
  /** The returned columns that tell which of the statements a row belongs to; two with the same values cannot be merged. */
  keys: string[]
}

type Row = Record<string, unknown>

type Query = { sql: string; parameters: readonly unknown[]; together: Together | undefined }

/** Several statements with the same SQL merged into one; `answers` splits its rows by statement again. */
type Joint<Q> = { query: Q; answers(rows: Row[]): Row[][] }

/** Identifies a statement in its group: two with the same key cannot be merged. */
export function memberKey({ names, keys }: Together, values: readonly unknown[]): string {
  return keyOf(rowOf(names, values), keys)
}

/** Nothing if these statements cannot be merged. */
export function jointOf<Q extends Query>(queries: readonly Q[]): Joint<Q> | undefined {
  const [query] = queries
  if (!query?.together) return undefined
  const { sql, names, keys } = query.together
  const all = queries.map(({ parameters }) => parameters)
  const rows = all.map((values) => rowOf(names, values))
  const ids = rows.map((row) => keyOf(row, keys))
  if (new Set(ids).size < ids.length) return undefined
  if (!all.every((values) => values.every(isJson))) return undefined
  return {
    query: { ...query, sql, parameters: [JSON.stringify(rows)] },
    answers: (found) => {
      const byMember = Map.groupBy(found, (row) => keyOf(row, keys))
      return ids.map((id) => byMember.get(id) ?? [])
    },
  }
}

function rowOf(names: string[], values: readonly unknown[]): Row {
  return Object.fromEntries(names.map((name, index) => [name, values[index]]))
}

function keyOf(row: Row, keys: string[]): string {
  return keys.map((key) => String(row[key])).join('\0')
}

/** Buffers and dates would not survive JSON. */
function isJson(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}
