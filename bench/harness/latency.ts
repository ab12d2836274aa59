import { setTimeout as wait } from 'node:timers/promises'
import { SECONDS } from './settings.ts'

const SAMPLES = Math.max(10, Math.round(SECONDS * 20))
const WARM_UP = 20

/** The median time of each request. Sends them in turn, so that a busy moment affects all of them alike. */
export async function mediansInTurns(requests: (() => Promise<Response>)[]): Promise<number[]> {
  const times = requests.map((): number[] => [])
  for (let sample = -WARM_UP; sample < SAMPLES; sample += 1)
    for (const [index, request] of requests.entries()) {
      const took = await timed(request)
      if (sample >= 0) times[index]?.push(took)
    }
  return times.map((each) => percentiles(each).p50Ms)
}

const PAUSE_MS = 10

/** The times of about a hundred requests per second, one after another. */
export async function sampled(request: () => Promise<Response>): Promise<number[]> {
  const times: number[] = []
  const until = performance.now() + SECONDS * 1000
  while (performance.now() < until) {
    times.push(await timed(request))
    await wait(PAUSE_MS)
  }
  return times
}

export async function timed(request: () => Promise<Response>): Promise<number> {
  const started = performance.now()
  await (await request()).arrayBuffer()
  return performance.now() - started
}

export function percentiles(times: number[]): { p50Ms: number; p99Ms: number } {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}
