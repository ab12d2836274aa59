import type { Row } from './harness.ts'

const number = (value: number | undefined, digits = 0) =>
  value === undefined
    ? ''
    : value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })

const COLUMNS: [title: string, cell: (row: Row) => string][] = [
  ['what', (row) => row.name],
  ['requests/s', (row) => row.figure ?? number(row.requestsPerSecond)],
  ['bare/s', (row) => number(row.barePerSecond)],
  ['ratio', (row) => number(row.ratio, 2)],
  ['bar', (row) => row.bar ?? ''],
  ['p50 ms', (row) => number(row.p50Ms, 2)],
  ['p99 ms', (row) => number(row.p99Ms, 2)],
  ['peak MB', (row) => number(row.peakMemoryMb)],
  ['', (row) => (row.met === undefined ? '' : row.met ? '✔' : '✖')],
]

/** A table that reads well in a terminal and in Markdown. */
export function tableOf(rows: Row[]): string {
  const cells = rows.map((row) => COLUMNS.map(([, cell]) => cell(row)))
  const widths = COLUMNS.map(([title], column) =>
    Math.max(3, title.length, ...cells.map((row) => row[column]?.length ?? 0)),
  )
  const line = (values: string[]) =>
    `| ${values.map((value, column) => pad(value, widths[column] ?? 0, column)).join(' | ')} |`
  const rule = `|${widths.map((width, column) => (column === 0 ? `${'-'.repeat(width + 2)}` : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(COLUMNS.map(([title]) => title)), rule, ...cells.map(line)].join('\n')
}

function pad(value: string, width: number, column: number): string {
  return column === 0 ? value.padEnd(width) : value.padStart(width)
}
