const MAX_EDITS = 2

/** The closest known word: at most two letters wrong, missing, added or swapped. */
export function nearest(word: string, known: string[]): string | undefined {
  const measured = known
    .map((name) => ({ name, edits: editDistance(word.toLowerCase(), name) }))
    .filter(({ name, edits }) => edits <= MAX_EDITS && edits < name.length - 1)
  return measured.sort((one, other) => one.edits - other.edits)[0]?.name
}

/** The Damerau–Levenshtein distance. */
function editDistance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? Infinity
  for (let row = 1; row <= one.length; row++) {
    rows[row] = [row]
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1]
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      const costs = [
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (same ? 0 : 1),
        swapped ? at(row - 2, column - 2) + 1 : Infinity,
      ]
      rows[row]?.push(Math.min(...costs))
    }
  }
  return at(one.length, other.length)
}
