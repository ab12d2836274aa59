/** One turn of both sides. */
export type Turn<Ours, Baseline> = { ours: Ours; baseline: Baseline; ratio: number }

/**
 * Lets both sides run in turns and returns the turn with the middle ratio: a busy moment of the
 * machine hits both, and one disturbed turn does not decide.
 */
export async function middleTurn<Ours, Baseline>(
  count: number,
  turn: () => Promise<Turn<Ours, Baseline>>,
): Promise<Turn<Ours, Baseline>> {
  const turns = [await turn()]
  while (turns.length < count) turns.push(await turn())
  return turns.toSorted((a, b) => a.ratio - b.ratio)[count >> 1] as Turn<Ours, Baseline>
}
