import { type Command, type Option, usageOf } from './command.ts'

/** Help for everything, for one topic (`user`), or for one command with its options. */
export function helpOf(
  commands: Command[],
  topic: string,
  globals: Record<string, Option> = {},
): string {
  const about = commands.filter(({ name }) => `${name} `.startsWith(`${topic} `))
  const shown = topic === '' || about.length === 0 ? commands : about
  const [only] = shown
  if (shown.length === 1 && only) return helpOfOne(only, globals)
  const lines = shown.map((each): [string, string] => [
    [each.name, ...(each.operands ?? [])].join(' '),
    each.summary,
  ])
  return `Usage: plinth <command>\n\n${columns(lines)}\n\n${CLOSING}`
}

const CLOSING = `"plinth <command> --help" shows its options. Settings come from the environment and from .env;
the result goes to stdout, progress and errors to stderr. Exit codes: 0 done, 1 failed or refused,
2 only warnings, 64 wrong arguments, 66 cannot read a file, 69 unavailable, 73 cannot create, 75 busy,
78 invalid settings.`

function helpOfOne(command: Command, globals: Record<string, Option>): string {
  const options = Object.entries({ ...command.options, ...globals }).map(
    ([name, { value, help }]): [string, string] => [
      value === undefined ? `--${name}` : `--${name} ${value}`,
      help,
    ],
  )
  return `Usage: ${usageOf(command)}\n\n${command.summary}\n\n${columns(options)}`
}

function columns(lines: [string, string][]): string {
  const width = Math.max(...lines.map(([left]) => left.length)) + 2
  return lines.map(([left, right]) => `  ${left.padEnd(width)}${right}`.trimEnd()).join('\n')
}
