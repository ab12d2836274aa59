/** What one step of the test command found. A skipped test always says why. */
export type Outcome = {
  passed: number
  failed: string[]
  skipped: { name: string; reason: string }[]
}

export function outcomeOf(outcomes: Outcome[]): Outcome {
  return {
    passed: outcomes.reduce((sum, outcome) => sum + outcome.passed, 0),
    failed: outcomes.flatMap((outcome) => outcome.failed),
    skipped: outcomes.flatMap((outcome) => outcome.skipped),
  }
}

/** Repeats what a reader would have to scroll for, then the line that tools read. */
export function closingLines({ passed, failed, skipped }: Outcome): string {
  const lines = [
    ...failed.map((name) => `✖ ${name}`),
    ...skipped.map(({ name, reason }) => `﹣ ${name} # ${reason}`),
    `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`,
  ]
  return `\n${lines.join('\n')}\n`
}
