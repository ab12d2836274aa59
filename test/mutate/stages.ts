import { PARTS, tagsFor } from '../runner/parts.ts'

/** Test files that run together, and which of their tests: those of `npm test`, or those it leaves out. */
export type Stage = {
  files: string[]
  part: 'first' | 'rest'
  tags: string | undefined
  env: Record<string, string>
}

/** The tests of `npm test` and, if wanted, then what only `npm run test:all` runs, each group in turn. */
export function stagesOf(groups: string[][], withAll: boolean): Stage[] {
  const parts = withAll ? (['first', 'rest'] as const) : (['first'] as const)
  return parts.flatMap((part) => groups.flatMap((files) => stagesIn(part, files)))
}

function stagesIn(part: Stage['part'], files: string[]): Stage[] {
  const { includes, env = {} } = PARTS[part]
  const byTags = Map.groupBy(files.filter(includes), (file) => tagsFor(file, part))
  return [...byTags].map(([tags, tagged]) => ({ files: tagged, part, tags, env }))
}
