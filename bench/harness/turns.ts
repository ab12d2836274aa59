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

/** The time, or processor time, that a number of requests took. */
export type Spent = { ms: number; requests: number }

/**
 * The time of a request, in milliseconds, over all turns together: one turn differs from the next by
 * more than what is measured.
 */
export async function timeOfRequests(
  count: number,
  ours: () => Promise<Spent>,
  baseline: () => Promise<Spent>,
): Promise<Turn<number, number>> {
  const one = { run: ours, ms: 0, requests: 0 }
  const other = { run: baseline, ms: 0, requests: 0 }
  for (let turn = 0; turn < count; turn++)
    // The first of two costs some percent more, also against itself: each is first in every other turn.
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
