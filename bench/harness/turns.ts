/** The two sides of a comparison, each measured once in a turn. */
export type Sides<Ours, Baseline> = {
  ours(): Promise<Ours>
  baseline(): Promise<Baseline>
  ratio(ours: Ours, baseline: Baseline): number
  /** Without a bar there is nothing to decide. */
  bar?: number | undefined
}

/** The results of one turn of both sides. */
export type Turn<Ours, Baseline> = { ours: Ours; baseline: Baseline; ratio: number }

const MAX_TIMES = 3

/**
 * Runs both sides in turns and returns the turn with the median ratio: a busy moment affects both
 * sides, and one disturbed turn does not decide the result. While more than a quarter of the turns fall on
 * the other side of the bar than the rest, they have not decided it, and two more are run, up to three times
 * as many as asked for.
 */
export async function middleTurn<Ours, Baseline>(
  count: number,
  sides: Sides<Ours, Baseline>,
): Promise<Turn<Ours, Baseline>> {
  const turns: Turn<Ours, Baseline>[] = []
  const run = async (times: number) => {
    for (let time = 0; time < times; time++) turns.push(await runTurn(sides, turns.length))
  }
  await run(count)
  while (turns.length < MAX_TIMES * count && isUndecided(turns, sides.bar)) await run(2)
  const sorted = turns.toSorted((a, b) => a.ratio - b.ratio)
  return sorted[sorted.length >> 1] as Turn<Ours, Baseline>
}

/** The ratio of two figures of the same unit. */
export function quotient(ours: number, baseline: number): number {
  return ours / baseline
}

/** Whichever side runs first costs a few percent more, even against itself, so alternate. */
async function runTurn<Ours, Baseline>(
  { ours, baseline, ratio }: Sides<Ours, Baseline>,
  turn: number,
): Promise<Turn<Ours, Baseline>> {
  const early = turn % 2 === 1 ? await baseline() : undefined
  const own = await ours()
  const other = early ?? (await baseline())
  return { ours: own, baseline: other, ratio: ratio(own, other) }
}

function isUndecided(turns: { ratio: number }[], bar: number | undefined): boolean {
  if (bar === undefined) return false
  const above = turns.filter(({ ratio }) => ratio >= bar).length
  return Math.min(above, turns.length - above) > turns.length / 4
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
