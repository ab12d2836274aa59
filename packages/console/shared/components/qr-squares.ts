import { encode } from 'uqr'

/** The path of the dark squares, and the length of a side. A bundle of its own, because few visitors need it. */
export function qrSquares(text: string): { path: string; size: number } {
  const { data, size } = encode(text, { border: 1 })
  const squares = data.flatMap((row, y) =>
    row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])),
  )
  return { path: squares.join(''), size }
}
