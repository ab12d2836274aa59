import { type Line, linesOf, tableOf } from './table.ts'

const START = '<!-- bench:start -->'
const END = '<!-- bench:end -->'

/**
 * The page with new lines in its table. Parts that were not measured keep their lines, parts that no
 * longer exist lose theirs, and the order is that of `parts`.
 */
export function withLines(page: string, parts: string[], measured: Map<string, Line[]>): string {
  const start = page.indexOf(START)
  const end = page.indexOf(END)
  if (start < 0 || end < start) throw new Error(`The page needs ${START} and ${END}.`)
  const old = Map.groupBy(linesOf(page.slice(start, end)), ([part]) => part)
  const lines = parts.flatMap((part) => measured.get(part) ?? old.get(part) ?? [])
  return `${page.slice(0, start)}${START}\n\n${tableOf(lines)}\n\n${page.slice(end)}`
}
