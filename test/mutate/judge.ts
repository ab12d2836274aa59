import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { changedLines, type Mutation, mutated } from './mutations.ts'
import { runTests, type Verdict } from './run-tests.ts'
import type { Stage } from './stages.ts'
import { copyTree } from './tree-copy.ts'

/** A file with its tests. Faults that the first stage does not notice go to the next. */
type Judged = { file: string; source: string; stages: Stage[] }

/** `part` is where the fault was noticed. */
type Judgement = { verdict: Verdict; part?: Stage['part'] }
type Judge = (judged: Judged, mutation: Mutation) => Promise<Judgement>

const BASELINE_MS = 900_000
const EXTRA_MS = 5_000
const SLOWER = 3

/** Makes faults in a copy of the tree, which is removed when the process exits. */
export function createJudge(root: string, env: Record<string, string>): Judge {
  const tree = copyTree(root)
  process.once('exit', tree.remove)
  const timeouts = new Map<string, number>()
  const compiled = { NODE_COMPILE_CACHE: join(tree.folder, 'compiled') }
  const run = ({ files, tags, env: also }: Stage, timeoutMs: number) =>
    runTests({
      folder: tree.folder,
      files,
      tags,
      env: { ...compiled, ...env, ...also },
      timeoutMs,
    })

  /** Derived from a run without any fault, which must pass. */
  const timeoutFor = async (stage: Stage, file: string): Promise<number> => {
    const key = JSON.stringify(stage)
    const known = timeouts.get(key)
    if (known !== undefined) return known
    const started = performance.now()
    const first = await run(stage, BASELINE_MS)
    // One unstable test must not end a survey of an hour.
    const verdict = first === 'passed' ? first : await run(stage, BASELINE_MS)
    if (verdict !== 'passed')
      throw new Error(
        `Without any fault in ${file} its tests have ${verdict}: ${stage.files.join(', ')}`,
      )
    const timeoutMs = SLOWER * (performance.now() - started) + EXTRA_MS
    timeouts.set(key, timeoutMs)
    return timeoutMs
  }

  return async ({ file, source, stages }, mutation) => {
    const copy = join(tree.folder, file)
    try {
      for (const stage of stages) {
        writeFileSync(copy, source)
        const timeoutMs = await timeoutFor(stage, file)
        writeFileSync(copy, mutated(source, mutation))
        const verdict = await run(stage, timeoutMs)
        if (verdict !== 'passed') return { verdict, part: stage.part }
      }
      return { verdict: 'passed' }
    } finally {
      writeFileSync(copy, source)
    }
  }
}

/** `killed` counts all that were noticed, `late` those of them that `npm test` does not notice. */
export type Counts = { made: number; killed: number; late: number; timedOut: number }

/** Prints each fault that no test notices, or only one outside of `npm test`. A timeout counts as noticed. */
export async function judgeAll(
  judge: Judge,
  judged: Judged,
  mutations: Mutation[],
): Promise<Counts> {
  const counts = { made: mutations.length, killed: 0, late: 0, timedOut: 0 }
  for (const mutation of mutations) {
    const { verdict, part } = await judge(judged, mutation)
    if (verdict === 'passed') console.log(`survived ${described(judged, mutation)}`)
    else counts.killed += 1
    if (verdict === 'timed out') counts.timedOut += 1
    if (part !== 'rest') continue
    counts.late += 1
    console.log(`noticed by npm run test:all only ${described(judged, mutation)}`)
  }
  return counts
}

/** The location of a fault and the lines it changes, as a diff. */
function described({ file, source }: Judged, mutation: Mutation): string {
  const { number, before, after } = changedLines(source, mutation)
  return [
    `${file}:${number} (${mutation.what})`,
    ...before.map((line) => `  - ${line}`),
    ...after.map((line) => `  + ${line}`),
  ].join('\n')
}
