/** The outcome of one step of `npm test`. A skipped suite counts once per test in it. */
export type Outcome = {
  passed: number
  failed: string[]
  /** Failed next to other files and passed alone: counted as passed, and listed with the error. */
  unstable: string[]
  skipped: Skip[]
}

export type Skip = { name: string; reason: string; tests: number }

export function outcomeOf(outcomes: Outcome[]): Outcome {
  return {
    passed: outcomes.reduce((sum, outcome) => sum + outcome.passed, 0),
    failed: outcomes.flatMap((outcome) => outcome.failed),
    unstable: outcomes.flatMap((outcome) => outcome.unstable),
    skipped: outcomes.flatMap((outcome) => outcome.skipped),
  }
}

/** Strict mode is for machines that can run everything: there a skip is a failure. */
export function hasFailed({ failed, skipped }: Outcome, strict: boolean): boolean {
  return failed.length > 0 || (strict && skipped.length > 0)
}

/** Repeats failures and skips, so that nobody has to scroll back, and ends with the line that tools read. */
export function closingLines(outcome: Outcome, strict: boolean): string {
  const { passed, failed, unstable, skipped } = outcome
  const skippedTests = skipped.reduce((sum, { tests }) => sum + tests, 0)
  const lines = [
    ...unstable.map((name) => `⚠ unstable, passed alone: ${name}`),
    ...failed.map((name) => `✖ ${name}`),
    ...skipped.map(({ name, reason, tests }) => `﹣ ${name}${countOf(tests)} # ${reason}`),
    ...(strict && skippedTests > 0 ? ['✖ TEST_STRICT=on: a skipped test is a failure'] : []),
    `${passed} passed, ${failed.length} failed, ${skippedTests} skipped`,
  ]
  return `\n${lines.join('\n')}\n`
}

function countOf(tests: number): string {
  return tests === 1 ? '' : ` (${tests} tests)`
}
