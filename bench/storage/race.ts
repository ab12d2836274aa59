import { atLeast, number, type Row } from '../harness/row.ts'
import { middleTurn } from '../harness/turns.ts'

const TURNS = 11
/** Enough for the code to be compiled and the file to be in the page cache. */
const WARM_UPS = 3

/** Compares the speed of two transfers, each given as a function that returns its seconds. */
export async function race(
  what: string,
  ours: () => Promise<number>,
  baseline: () => Promise<number>,
  { megabytes, bar }: { megabytes: number; bar: number },
): Promise<Row> {
  for (let round = 0; round < WARM_UPS; round += 1) {
    await ours()
    await baseline()
  }
  const middle = await middleTurn(TURNS, {
    ours,
    baseline,
    ratio: (own, other) => other / own,
    bar,
  })
  const speed = (seconds: number) => `${number(megabytes / seconds)} MiB/s`
  return {
    what,
    ours: speed(middle.ours),
    baseline: speed(middle.baseline),
    ratio: middle.ratio,
    ...atLeast(bar, middle.ratio),
  }
}
