import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type CriticalFile, isEquivalent } from './critical-files.ts'
import { createJudge, judgeAll } from './judge.ts'
import { changedLines, type Mutation, mutationsOf } from './mutations.ts'

/**
 * Makes a few faults in each critical file and counts how many its tests notice. On SQLite only, and one
 * test file after another, because the first one notices most faults. Each core has its own tree.
 */
export async function surveyFiles(root: string, critical: CriticalFile[]): Promise<void> {
  const sum = { made: 0, killed: 0, timedOut: 0 }
  const waiting = critical.values()
  const judgeWaiting = async () => {
    const judge = createJudge(root, { TEST_POSTGRES_MISSING: 'faults are judged on SQLite' })
    for (const { file, tests } of waiting) {
      const source = readFileSync(join(root, file), 'utf8')
      const mutations = sampleOf(source, mutationsOf(source)).filter(
        (mutation) => !isEquivalent(file, source, mutation),
      )
      const judged = { file, source, stages: tests.map((test) => [test]) }
      const { made, killed, timedOut } = await judgeAll(judge, judged, mutations)
      console.log(`killed ${killed} of ${made} in ${file}`)
      sum.made += made
      sum.killed += killed
      sum.timedOut += timedOut
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, judgeWaiting))
  const percent = ((100 * sum.killed) / sum.made).toFixed(1)
  const total = `killed ${sum.killed} of ${sum.made} in ${critical.length} files`
  console.log(`${total}: ${percent} % (${sum.timedOut} by time)`)
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
