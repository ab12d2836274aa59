import type { Env } from '@plinth/kit'
import { type ServiceEntry, services } from '../launcher/services.ts'
import type { Progress } from './progress.ts'

/** Scripts depend on them. From 64 on as in sysexits.h. */
export const EXIT = {
  done: 0,
  /** The thing asked is not so: refused, different, not healthy. */
  notSo: 1,
  warnings: 2,
  usage: 64,
  noInput: 66,
  unavailable: 69,
  cannotCreate: 73,
  /** Another one is at work: try again. */
  busy: 75,
  settings: 78,
} as const

/** Why a command ends without a result, in a sentence for the person at the terminal. */
export class CommandError extends Error {
  readonly code: number

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** One line of `plinth --help` and what it does. */
export type Command = {
  /** One word, or two: `user create`. */
  name: string
  summary: string
  /** What follows the name: `<required>`, `[optional]`; one with `…` may be repeated. */
  operands?: string[]
  options?: Record<string, Option>
  /** Loads what it needs itself, so that no command waits for the code of another. */
  run(given: Given): Promise<Outcome | undefined>
}

/** Of `node:util` parseArgs, with what the help says about it; `value` names what follows. */
export type Option = {
  type: 'string' | 'boolean'
  multiple?: boolean
  value?: string
  help: string
}

export type Given = {
  operands: string[]
  flag(name: string): boolean
  text(name: string): string | undefined
  texts(name: string): string[]
  /** The environment with the settings of `.env` in it. */
  env: Env
  /** Shown on stderr while a command is at work. */
  progress: Progress
}

/** What goes to stdout: `json` with `--json`, else `text`. Without one the process goes on running. */
export type Outcome = { text: string; json: unknown; code?: number }

/** Usage of one command, as `plinth user create <username> <email> [--admin]`. */
export function usageOf({ name, operands = [], options = {} }: Command): string {
  const flags = Object.entries(options).map(([key, { value, multiple }]) => {
    const flag = value === undefined ? `[--${key}]` : `[--${key} ${value}]`
    return multiple ? `${flag}…` : flag
  })
  return ['plinth', name, ...operands, ...flags].join(' ')
}

/** One line a row, its values apart by tabs. */
export function tableOf(rows: Record<string, unknown>[]): string {
  const names = Object.keys(rows[0] ?? {})
  if (names.length === 0) return 'None.'
  return [names, ...rows.map((row) => names.map((name) => row[name] ?? ''))]
    .map((line) => line.join('\t'))
    .join('\n')
}

export function serviceOf(name: string): ServiceEntry {
  const entry = services.find((service) => service.name === name)
  if (entry) return entry
  const names = services.map((service) => service.name).join(', ')
  throw new CommandError(EXIT.usage, `There is no service "${name}". Expected one of ${names}.`)
}
