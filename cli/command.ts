import type { Env } from '@plinth/kit/runtime'
import { type ServiceEntry, services } from '../launcher/services.ts'
import type { Progress } from './progress.ts'

/** Exit codes, which scripts depend on. Those from 64 on follow sysexits.h. */
export const EXIT = {
  done: 0,
  /** A negative result: refused, different or not healthy. */
  failed: 1,
  warnings: 2,
  usage: 64,
  noInput: 66,
  unavailable: 69,
  cannotCreate: 73,
  /** Another process is doing the same work: try again later. */
  busy: 75,
  settings: 78,
} as const

/** Why a command ends without a result, as a sentence for the user. */
export class CommandError extends Error {
  readonly code: number

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export function cannotRead(file: string, error: unknown): CommandError {
  const { code, message } = error as NodeJS.ErrnoException
  const why = code === 'ENOENT' ? 'there is no such file' : (code ?? message)
  return new CommandError(EXIT.noInput, `${file} cannot be read: ${why}.`, { cause: error })
}

/** A command and its line in `plinth --help`. */
export type Command = {
  /** One word, or two, as in `user create`. */
  name: string
  summary: string
  /** The operands after the name: `<required>` or `[optional]`; one with `…` may be repeated. */
  operands?: string[]
  options?: Record<string, Option>
  /** Imports the code it needs itself, so that no command waits for another's code to load. */
  run(given: Given): Promise<Outcome | undefined>
}

/** An option of `parseArgs` in `node:util`, with its help text; `value` is the placeholder for its value. */
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
  /** The environment, including the settings from `.env`. */
  env: Env
  /** Shown on stderr while a command is running. */
  progress: Progress
}

/**
 * What goes to stdout: `json` with `--json`, otherwise `text`. What people capture, such as a key, is the whole
 * `text`, and what is said about it is the `note`, which goes to stderr. Without an outcome the process keeps running.
 */
export type Outcome = { text: string; note?: string; json: unknown; code?: number }

/** The usage line of a command, such as `plinth user create <username> <email> [--admin]`. */
export function usageOf({ name, operands = [], options = {} }: Command): string {
  const flags = Object.entries(options).map(([key, { value, multiple }]) => {
    const flag = value === undefined ? `[--${key}]` : `[--${key} ${value}]`
    return multiple ? `${flag}…` : flag
  })
  return ['plinth', name, ...operands, ...flags].join(' ')
}

/** `1 fault`, `2 faults`. */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`
}

/** One line per row, with values separated by tabs. */
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
