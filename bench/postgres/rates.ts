import { atLeast, perSecond, type Row } from '../harness/row.ts'
import { middleTurn } from '../harness/turns.ts'

const TURNS = 3

type Rate = () => Promise<number>

/** Two rates in turns, after one turn of each to get warm. Without a bar it is only a comparison. */
export async function rateAgainst(
  what: string,
  ours: Rate,
  baseline: Rate,
  bar?: number,
): Promise<Row> {
  await ours()
  await baseline()
  const middle = await middleTurn(TURNS, async () => {
    const [own, other] = [await ours(), await baseline()]
    return { ours: own, baseline: other, ratio: own / other }
  })
  return {
    what,
    ours: perSecond(middle.ours),
    baseline: perSecond(middle.baseline),
    ratio: middle.ratio,
    ...(bar !== undefined && atLeast(bar, middle.ratio)),
  }
}
