import { parseArgs } from 'node:util'
import type { Problem } from '@plinth/kit/problems'
import { type Env, readEnvFile } from '@plinth/kit/runtime'
import { type Command, CommandError, EXIT, type Given, type Option, usageOf } from './command.ts'
import { commands } from './commands/index.ts'
import { helpOf } from './help.ts'
import { createProgress } from './progress.ts'
import { nearest } from './suggestion.ts'

/** Options that every command has. */
const GLOBAL: Record<string, Option> = {
  json: { type: 'boolean', help: 'prints the result as JSON' },
  data: { type: 'string', value: 'DIR', help: 'the data folder, instead of SUITE_DATA' },
  settings: { type: 'string', value: 'FILE', help: 'the settings file, instead of .env' },
  'no-color': { type: 'boolean', help: 'no colours, like NO_COLOR' },
  help: { type: 'boolean', help: 'shows this help' },
}

/** Runs a command, prints its result and exits with its code. */
export async function runPlinth(args: string[]): Promise<void> {
  const answer = await answerOf(args, process.env)
  if (answer === undefined) return
  if (answer.stdout !== undefined) console.log(await shownOn(process.stdout, answer.stdout))
  if (answer.stderr !== undefined) console.error(await shownOn(process.stderr, answer.stderr))
  process.exit(answer.code)
}

/** A pipe gets the text as it is, for programs. */
async function shownOn(output: NodeJS.WriteStream, text: string): Promise<string> {
  if (!output.isTTY) return text
  const { forTerminal } = await import('./terminal.ts')
  return forTerminal(text, { colour: output.hasColors() && !process.env.NO_COLOR })
}

type Answer = { code: number; stdout?: string; stderr?: string | undefined }

/** The output of a command, or undefined if it keeps running. */
export async function answerOf(args: string[], env: Env): Promise<Answer | undefined> {
  const progress = createProgress()
  try {
    const asked = readArguments(args)
    if (asked.help !== undefined) return { code: EXIT.done, stdout: asked.help }
    const { command, operands, values } = asked
    const outcome = await command.run(givenOf(operands, values, { env, progress }))
    if (outcome === undefined) return undefined
    const code = outcome.code ?? EXIT.done
    if (values.json) return { code, stdout: JSON.stringify(outcome.json, null, 2) }
    return { code, stdout: outcome.text, stderr: outcome.note }
  } catch (error) {
    return refusalOf(error)
  } finally {
    progress.end()
  }
}

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>
type Asked =
  | { help: string }
  | { help?: undefined; command: Command; operands: string[]; values: Values }

const SHORT: Record<string, string> = { '-h': '--help', '-v': '--version' }

function readArguments(given: string[]): Asked {
  const args = given.map((word) => SHORT[word] ?? word)
  if (args[0] === '--version') args[0] = 'version'
  const { tokens } = parseArgs({
    args,
    options: GLOBAL,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const words = tokens.filter((token) => token.kind === 'positional')
  const options = tokens.filter((token) => token.kind === 'option')
  const wantsHelp = options.some(({ name }) => name === 'help')
  const command = commandOf(words.map(({ value }) => value))
  if (command === undefined) {
    const topic = words[0]?.value ?? ''
    if (topic === '' && !wantsHelp) requireGlobal(options)
    if (wantsHelp || topic === '') return { help: helpOf(commands, topic) }
    throw new CommandError(EXIT.usage, unknownWord(words.map(({ value }) => value)))
  }
  if (wantsHelp) return { help: helpOf([command], command.name, GLOBAL) }
  const names = words.slice(0, command.name.split(' ').length).map(({ index }) => index)
  const rest = args.filter((_, index) => !names.includes(index))
  return { command, ...parse(command, rest) }
}

/** Without a command, only these options mean anything. */
function requireGlobal(options: { name: string; rawName: string }[]): void {
  const unknown = options.find(({ name }) => !(name in GLOBAL))
  if (unknown === undefined) return
  const { name, rawName } = unknown
  const hint = rawName.startsWith('--')
    ? unknownOption(name, Object.keys(GLOBAL))
    : `There is no option ${rawName}.`
  throw new CommandError(EXIT.usage, `${hint} "plinth --help" lists the commands.`)
}

/** The command with the longest matching name. */
function commandOf(words: string[]): Command | undefined {
  const line = `${words.join(' ')} `
  return commands
    .filter(({ name }) => line.startsWith(`${name} `))
    .sort((one, other) => other.name.length - one.name.length)[0]
}

/** An authenticator chooses the id of a passkey, which may begin with a hyphen. No option is as long. */
const ID = /^-[\w-]{31,}$/

/** Refuses unknown options, because they may be misspelt. */
function parse(command: Command, args: string[]): { operands: string[]; values: Values } {
  const options = { ...GLOBAL, ...command.options }
  try {
    const ids = args.filter((word) => ID.test(word))
    const others = args.filter((word) => !ID.test(word))
    const { values, positionals } = parseArgs({ args: others, options, allowPositionals: true })
    const operands = [...positionals, ...ids]
    const [least, most] = countsOf(command)
    if (operands.length < least || operands.length > most || operands.includes(''))
      throw new CommandError(EXIT.usage, `Usage: ${usageOf(command)}`)
    return { values, operands }
  } catch (error) {
    if (error instanceof CommandError) throw error
    const { message } = error as Error
    const name = /Unknown option '--([^']+)'/.exec(message)?.[1]
    const hint = name === undefined ? message : unknownOption(name, Object.keys(options))
    throw new CommandError(EXIT.usage, `${hint}\nUsage: ${usageOf(command)}`, { cause: error })
  }
}

function countsOf({ operands = [] }: Command): [least: number, most: number] {
  const least = operands.filter((name) => name.startsWith('<')).length
  return [least, operands.some((name) => name.includes('…')) ? Infinity : operands.length]
}

function unknownOption(name: string, known: string[]): string {
  const meant = nearest(name, known)
  return `There is no option --${name}.${meant ? ` Did you mean --${meant}?` : ''}`
}

function unknownWord(words: string[]): string {
  const [topic = '', verb = ''] = words
  const verbs = commands.filter(({ name }) => name.startsWith(`${topic} `))
  if (verbs.length > 0 && verb === '') return helpOf(commands, topic)
  const names = (verbs.length > 0 ? verbs : commands).map(({ name }) =>
    verbs.length > 0 ? name : (name.split(' ')[0] as string),
  )
  const said = verbs.length > 0 ? `${topic} ${verb}` : topic
  const meant = nearest(said, [...new Set(names)])
  const known = verbs.map(({ name }) => name.slice(topic.length + 1)).join(', ')
  const help = known === '' ? '"plinth --help" lists the commands.' : `Expected one of ${known}.`
  const hint = meant ? `Did you mean "plinth ${meant}"?` : help
  return `There is no command "plinth ${said}". ${hint}`
}

function givenOf(
  operands: string[],
  values: Values,
  { env, progress }: Pick<Given, 'env' | 'progress'>,
): Given {
  const text = (name: string) => (typeof values[name] === 'string' ? values[name] : undefined)
  const list = (name: string) => (Array.isArray(values[name]) ? values[name].map(String) : [])
  readSettingsFile(text('settings'), env)
  const data = text('data')
  if (data !== undefined) {
    env.SUITE_DATA = data
    delete env.SUITE_DATA_FILE
  }
  if (values['no-color']) env.NO_COLOR = '1'
  return { operands, flag: (name) => values[name] === true, text, texts: list, env, progress }
}

function readSettingsFile(file: string | undefined, env: Env): void {
  try {
    readEnvFile(env, file)
  } catch (error) {
    if (file === undefined) throw error
    throw new CommandError(EXIT.noInput, `--settings ${(error as Error).message}.`, {
      cause: error,
    })
  }
}

async function refusalOf(error: unknown): Promise<Answer> {
  if (error instanceof CommandError) return { code: error.code, stderr: error.message }
  const { failureOf } = await import('@plinth/kit/http')
  const { Problem } = await import('@plinth/kit/problems')
  if (error instanceof Problem) return problemOf(error)
  const { message, code } = failureOf(error)
  return { code, stderr: message }
}

/** Validation errors are wrong arguments; any other problem is a refusal. */
function problemOf({ extra, message }: Problem): Answer {
  const faults = extra.errors as string[] | undefined
  return faults === undefined
    ? { code: EXIT.failed, stderr: message }
    : { code: EXIT.usage, stderr: faults.join('\n') }
}
