const MAX_LINES = 30
const MAX_CHARACTERS = 200

/** Which test failed, what was expected and what came, and the command that runs only that test. */
export function describeFailure(name: string, paths: string[], error: Error): string {
  const files = paths.join(' ')
  return [`${name} (${files})`, errorOf(error), `    alone: ${commandFor(name, files)}`].join('\n')
}

/** These files failed as a whole: they could not be loaded, took too long, or failed after their last test. */
export function describeProcess(files: string, error: Error): string {
  return [files, errorOf(error), `    alone: node_modules/.bin/node --test ${files}`].join('\n')
}

/** Node wraps the error of a test. Truncated, because a message may contain a whole page. */
function errorOf({ message, cause }: Error): string {
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause ?? message)
  return text
    .split('\n')
    .filter((line) => !/^\s+at .*node:internal/.test(line))
    .slice(0, MAX_LINES)
    .map((line) => `    ${line.slice(0, MAX_CHARACTERS)}`)
    .join('\n')
}

/** Node compares the pattern with the names of the suites and the test. */
function commandFor(name: string, files: string): string {
  const pattern = name.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`).replaceAll("'", '.')
  return `node_modules/.bin/node --test --test-name-pattern='${pattern}$' ${files}`
}
