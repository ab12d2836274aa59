import { number, type Row } from '../harness/row.ts'

/** The cells of one line: first the part it belongs to, then the measurement. */
export type Line = string[]

const COLUMNS: [title: string, cell: (row: Row) => string][] = [
  ['what', (row) => row.what],
  ['ours', (row) => row.ours],
  ['baseline', (row) => row.baseline ?? ''],
  ['ratio', (row) => (row.ratio === undefined ? '' : number(row.ratio, 2))],
  ['bar', (row) => row.bar ?? ''],
  ['', (row) => (row.met === undefined ? '' : row.met ? '✔' : '✖')],
  ['p50 ms', (row) => (row.p50Ms === undefined ? '' : number(row.p50Ms, 2))],
  ['p99 ms', (row) => (row.p99Ms === undefined ? '' : number(row.p99Ms, 2))],
  ['peak MB', (row) => (row.peakMb === undefined ? '' : number(row.peakMb))],
]
const TITLES = ['part', ...COLUMNS.map(([title]) => title), 'measured']
const TEXT_COLUMNS = new Set(['part', 'what', 'measured'])

/** `measured` says when and where, because one table holds the lines of several runs. */
export function lineOf(part: string, row: Row, measured: string): Line {
  return [part, ...COLUMNS.map(([, cell]) => cell(row)), measured]
}

/** A table that is readable both in a terminal and as Markdown. */
export function tableOf(lines: Line[]): string {
  const widths = TITLES.map((title, column) =>
    Math.max(3, title.length, ...lines.map((line) => line[column]?.length ?? 0)),
  )
  const isText = TITLES.map((title) => TEXT_COLUMNS.has(title))
  const rendered = (line: Line) => {
    const cells = widths.map((width, column) => {
      const cell = line[column] ?? ''
      return isText[column] ? cell.padEnd(width) : cell.padStart(width)
    })
    return `| ${cells.join(' | ')} |`
  }
  const rule = widths.map((width, column) =>
    isText[column] ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`,
  )
  return [rendered(TITLES), `|${rule.join('|')}|`, ...lines.map(rendered)].join('\n')
}

/** The lines of a table that `tableOf` made. */
export function linesOf(table: string): Line[] {
  const rows = table.split('\n').filter((row) => row.startsWith('|'))
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}
