import { atLeast, perSecond, type Row } from '../harness/row.ts'
import { middleTurn, quotient } from '../harness/turns.ts'

const TURNS = 3

type Rate = () => Promise<number>

/** Measures two rates in turns, after one turn each to warm up. Without a bar there is no target. */
export async function rateAgainst(
  what: string,
  ours: Rate,
  baseline: Rate,
  bar?: number,
): Promise<Row> {
  await ours()
  await baseline()
  const middle = await middleTurn(TURNS, { ours, baseline, ratio: quotient, bar })
  return {
    what,
    ours: perSecond(middle.ours),
    baseline: perSecond(middle.baseline),
    ratio: middle.ratio,
    ...(bar !== undefined && atLeast(bar, middle.ratio)),
  }
}
