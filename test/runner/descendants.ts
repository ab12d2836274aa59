import { existsSync, readFileSync } from 'node:fs'

/** Ends all processes that this one started, and those that they started. */
export function endDescendants(): void {
  for (const pid of descendantsOf(process.pid)) end(pid)
}

function descendantsOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  const children = existsSync(file) ? (readFileSync(file, 'utf8').match(/\d+/g) ?? []) : []
  return children.map(Number).flatMap((child) => [child, ...descendantsOf(child)])
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // It has already exited.
  }
}
