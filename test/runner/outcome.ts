/** The outcome of some tests. A skipped suite counts as one. */
export type Outcome = {
  passed: number
  /** Each with its error and the command that repeats it. */
  failed: string[]
  /** Failed next to other files and passed alone: counted as passed, and listed like a failure. */
  unstable: string[]
  skipped: Skip[]
  /** How long each file took. */
  seconds: Record<string, number>
}

export type Skip = { name: string; reason: string }

export const NOTHING: Outcome = { passed: 0, failed: [], unstable: [], skipped: [], seconds: {} }

export function outcomeOf(outcomes: Outcome[]): Outcome {
  return {
    passed: outcomes.reduce((sum, outcome) => sum + outcome.passed, 0),
    failed: outcomes.flatMap((outcome) => outcome.failed),
    unstable: outcomes.flatMap((outcome) => outcome.unstable),
    skipped: outcomes.flatMap((outcome) => outcome.skipped),
    seconds: Object.assign({}, ...outcomes.map(({ seconds }) => seconds)),
  }
}

/** Strict mode is for machines that can run everything: there a skip is a failure. */
export function hasFailed({ failed, skipped }: Outcome, strict: boolean): boolean {
  return failed.length > 0 || (strict && skipped.length > 0)
}

type Closing = {
  strict: boolean
  /** How many tests only `npm run test:all` runs. */
  leftOut?: number | undefined
}

/** Repeats failures and skips, so that they need not be searched for, and ends with the line that tools read. */
export function closingLines(outcome: Outcome, { strict, leftOut }: Closing): string {
  const { passed, failed, unstable, skipped } = outcome
  const lines = [
    ...skipped.map(({ name, reason }) => `﹣ ${name} # ${reason}`),
    ...unstable.map((name) => `⚠ unstable, passed alone: ${name}`),
    ...failed.map((name) => `✖ ${name}`),
    ...(strict && skipped.length > 0 ? ['✖ TEST_STRICT=on: a skipped test is a failure'] : []),
    ...(unstable.length > 0 ? [`${unstable.length} unstable`] : []),
    ...(leftOut ? [`${leftOut.toLocaleString('en')} more in npm run test:all`] : []),
    `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`,
  ]
  return `\n${lines.join('\n')}\n`
}
