/** The results of one turn of both sides. */
export type Turn<Ours, Baseline> = { ours: Ours; baseline: Baseline; ratio: number }

/**
 * Runs both sides in turns and returns the turn with the median ratio: a busy moment affects both
 * sides, and one disturbed turn does not decide the result.
 */
export async function middleTurn<Ours, Baseline>(
  count: number,
  turn: () => Promise<Turn<Ours, Baseline>>,
): Promise<Turn<Ours, Baseline>> {
  const turns = [await turn()]
  while (turns.length < count) turns.push(await turn())
  return turns.toSorted((a, b) => a.ratio - b.ratio)[count >> 1] as Turn<Ours, Baseline>
}

/** The elapsed time, or CPU time, of a number of requests. */
export type Spent = { ms: number; requests: number }

/**
 * The time per request in milliseconds, over all turns together: single turns differ by more than the
 * effect being measured.
 */
export async function timeOfRequests(
  count: number,
  ours: () => Promise<Spent>,
  baseline: () => Promise<Spent>,
): Promise<Turn<number, number>> {
  const one = { run: ours, ms: 0, requests: 0 }
  const other = { run: baseline, ms: 0, requests: 0 }
  for (let turn = 0; turn < count; turn++)
    // Whichever side runs first costs a few percent more, even against itself, so alternate.
    for (const side of turn % 2 === 0 ? [one, other] : [other, one]) {
      const { ms, requests } = await side.run()
      side.ms += ms
      side.requests += requests
    }
  const ofRequest = ({ ms, requests }: Spent) => ms / requests
  return {
    ours: ofRequest(one),
    baseline: ofRequest(other),
    ratio: ofRequest(one) / ofRequest(other),
  }
}
