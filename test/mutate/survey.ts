import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { providePostgres } from '../runner/postgres.ts'
import { type CriticalFile, isEquivalent } from './critical-files.ts'
import { type Counts, createJudge, judgeAll } from './judge.ts'
import { changedLines, type Mutation, mutationsOf } from './mutations.ts'
import { stagesOf } from './stages.ts'

/**
 * Makes a few faults in each critical file and counts how many its tests notice, one test file after another,
 * because the first one notices most faults. Each core has its own tree. With the tests of `npm test`;
 * `withAll` then adds what only `npm run test:all` runs.
 */
export async function surveyFiles(
  root: string,
  critical: CriticalFile[],
  withAll = false,
): Promise<void> {
  const sum = { made: 0, killed: 0, late: 0, timedOut: 0 }
  const waiting = critical.values()
  const postgres = await providePostgres()
  const judgeWaiting = async () => {
    const judge = createJudge(root, postgres.env)
    for (const { file, tests } of waiting) {
      const source = readFileSync(join(root, file), 'utf8')
      const mutations = sampleOf(source, mutationsOf(source)).filter(
        (mutation) => !isEquivalent(file, source, mutation),
      )
      const stages = stagesOf(
        tests.map((test) => [test]),
        withAll,
      )
      const counts = await judgeAll(judge, { file, source, stages }, mutations)
      console.log(`${summaryOf(counts, withAll)} in ${file}`)
      for (const key of ['made', 'killed', 'late', 'timedOut'] as const) sum[key] += counts[key]
    }
  }
  try {
    await Promise.all(
      Array.from({ length: Math.min(availableParallelism(), critical.length) }, judgeWaiting),
    )
  } finally {
    await postgres.stop()
  }
  const percent = (killed: number) => `${((100 * killed) / sum.made).toFixed(1)} %`
  const first = withAll ? `, ${percent(sum.killed - sum.late)} with npm test` : ''
  const total = `${summaryOf(sum, withAll)} in ${critical.length} files`
  console.log(`${total}: ${percent(sum.killed)}${first} (${sum.timedOut} by time)`)
}

export function summaryOf({ made, killed, late }: Counts, withAll: boolean): string {
  return `killed ${killed} of ${made}${withAll ? `, ${killed - late} with npm test` : ''}`
}

const FEW = 5
const MANY_FAULTS = 40

/**
 * Five faults, or six if there are many: those with the lowest hash of the changed line. Every run makes
 * the same ones, and a change elsewhere in the file does not select others.
 */
export function sampleOf(source: string, mutations: Mutation[]): Mutation[] {
  const count = mutations.length > MANY_FAULTS ? FEW + 1 : FEW
  const rank = (mutation: Mutation) =>
    hash('sha256', `${mutation.what}\n${changedLines(source, mutation).after}`)
  return mutations
    .map((mutation) => ({ mutation, rank: rank(mutation) }))
    .toSorted((one, other) => (one.rank < other.rank ? -1 : Number(one.rank > other.rank)))
    .slice(0, count)
    .map(({ mutation }) => mutation)
    .toSorted((one, other) => one.start - other.start)
}
