import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { changedLines, type Mutation, mutated } from './mutations.ts'
import { runTests, type Verdict } from './run-tests.ts'
import { copyTree } from './tree-copy.ts'

/** A file with its tests. Faults that the first stage does not notice go to the next. */
export type Judged = { file: string; source: string; stages: string[][] }

type Judge = (judged: Judged, mutation: Mutation) => Promise<Verdict>

const BASELINE_MS = 900_000
const EXTRA_MS = 5_000
const SLOWER = 3

/** Makes faults in a copy of the tree, which is removed when the process exits. */
export function createJudge(root: string, env: Record<string, string>): Judge {
  const tree = copyTree(root)
  process.once('exit', tree.remove)
  const timeouts = new Map<string, number>()
  const compiled = { NODE_COMPILE_CACHE: join(tree.folder, 'compiled') }
  const run = (files: string[], timeoutMs: number) =>
    runTests({ folder: tree.folder, files, env: { ...compiled, ...env }, timeoutMs })

  /** Derived from a run without any fault, which must pass. */
  const timeoutFor = async (files: string[], file: string): Promise<number> => {
    const known = timeouts.get(files.join())
    if (known !== undefined) return known
    const started = performance.now()
    const verdict = await run(files, BASELINE_MS)
    if (verdict !== 'passed')
      throw new Error(`Without any fault in ${file} its tests have ${verdict}: ${files.join(', ')}`)
    const timeoutMs = SLOWER * (performance.now() - started) + EXTRA_MS
    timeouts.set(files.join(), timeoutMs)
    return timeoutMs
  }

  return async ({ file, source, stages }, mutation) => {
    const copy = join(tree.folder, file)
    try {
      for (const files of stages) {
        writeFileSync(copy, source)
        const timeoutMs = await timeoutFor(files, file)
        writeFileSync(copy, mutated(source, mutation))
        const verdict = await run(files, timeoutMs)
        if (verdict !== 'passed') return verdict
      }
      return 'passed'
    } finally {
      writeFileSync(copy, source)
    }
  }
}

/** Prints each fault that no test notices. A timeout counts as noticed. */
export async function judgeAll(judge: Judge, judged: Judged, mutations: Mutation[]) {
  const counts = { made: mutations.length, killed: 0, timedOut: 0 }
  for (const mutation of mutations) {
    const verdict = await judge(judged, mutation)
    if (verdict === 'passed') console.log(survivor(judged, mutation))
    else counts.killed += 1
    if (verdict === 'timed out') counts.timedOut += 1
  }
  return counts
}

/** The location of a fault and the lines it changes, as a diff. */
function survivor({ file, source }: Judged, mutation: Mutation): string {
  const { number, before, after } = changedLines(source, mutation)
  return [
    `survived ${file}:${number} (${mutation.what})`,
    ...before.map((line) => `  - ${line}`),
    ...after.map((line) => `  + ${line}`),
  ].join('\n')
}
