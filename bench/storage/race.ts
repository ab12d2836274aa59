import type { Row } from '../harness.ts'

const TURNS = 11
/** Until what runs is compiled and what is read is in memory. */
const WARM_UPS = 3

/** Ours and theirs take turns, each telling its seconds; the middle ratio of their speeds counts. */
export async function race(
  name: string,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
  { megabytes, bar }: { megabytes: number; bar?: number },
): Promise<Row> {
  const turns: { own: number; other: number; ratio: number }[] = []
  for (let round = 0; round < WARM_UPS; round += 1) {
    await ours()
    await theirs()
  }
  while (turns.length < TURNS) {
    const [own, other] = [await ours(), await theirs()]
    turns.push({ own, other, ratio: other / own })
  }
  const middle = turns.sort((a, b) => a.ratio - b.ratio)[TURNS >> 1]
  const { own = 1, other = 1, ratio = 0 } = middle ?? {}
  const speed = (seconds: number) => `${Math.round(megabytes / seconds)} MiB/s`
  const figure = `${speed(own)} to ${speed(other)}`
  return { name, figure, ratio, ...(bar && { bar: `≥ ${bar}`, met: ratio >= bar }) }
}
