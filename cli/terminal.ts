import { styleText } from 'node:util'

const COLOURS = { '✔': 'green', '!': 'yellow', '✖': 'red' } as const

type Sign = keyof typeof COLOURS

/** What a person reads on a terminal: columns instead of tabs, and coloured signs unless `NO_COLOR` is set. */
export function forTerminal(text: string, { colour }: { colour: boolean }): string {
  const lines = columnsOf(text.split('\n').map((line) => line.split('\t')))
  return (colour ? lines.map(withColour) : lines).join('\n')
}

/** Aligns neighbouring lines that have tabs; a line without one ends a table. */
function columnsOf(rows: string[][]): string[] {
  const tables: string[][][] = []
  let previous: string[] | undefined
  for (const row of rows) {
    const continues = previous && previous.length > 1 && row.length > 1
    if (continues) tables.at(-1)?.push(row)
    else tables.push([row])
    previous = row
  }
  return tables.flatMap((table) => {
    const widths = widthsOf(table)
    return table.map((row) =>
      row
        .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
        .join('  '),
    )
  })
}

function widthsOf(table: string[][]): number[] {
  const widths: number[] = []
  for (const row of table)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length)
  return widths
}

function withColour(line: string): string {
  const sign = line[0] as Sign
  if (!(sign in COLOURS) || line[1] !== ' ') return line
  return styleText(COLOURS[sign], sign, { validateStream: false }) + line.slice(1)
}
