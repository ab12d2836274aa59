/** One line of the table. */
export type Row = {
  what: string
  /** With its unit: `13,982/s`, `0.42 s`. */
  ours: string
  baseline?: string
  ratio?: number
  /** The target as text, and whether it was met. */
  bar?: string
  met?: boolean
  p50Ms?: number
  p99Ms?: number
  peakMb?: number | undefined
}

/** Measures one part of the benchmark, in a folder that is removed afterwards. */
export type Part = (folder: string) => Promise<Row[]>

export function atLeast(bar: number, value: number): Pick<Row, 'bar' | 'met'> {
  return { bar: `≥ ${bar}`, met: value >= bar }
}

export function atMost(bar: number, value: number, unit = ''): Pick<Row, 'bar' | 'met'> {
  return { bar: `≤ ${bar}${unit}`, met: value <= bar }
}

export function perSecond(rate: number): string {
  return `${number(rate)}/s`
}

export function number(value: number, digits = 0): string {
  return value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}
