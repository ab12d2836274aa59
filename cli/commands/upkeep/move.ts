import { readFileSync } from 'node:fs'
import { armFailPoint } from '@plinth/kit/runtime'
import {
  type Command,
  CommandError,
  cannotRead,
  EXIT,
  type Given,
  type Outcome,
  serviceOf,
  tableOf,
} from '../../command.ts'
import { withExitCode } from './backup.ts'

export const move: Command = {
  name: 'move',
  summary: 'copies the database of a stopped service to SQLite or PostgreSQL, and compares both',
  operands: ['<service>'],
  options: {
    to: { type: 'string', value: 'URL', help: 'sqlite:<file> or postgres://…, without a password' },
    'to-file': {
      type: 'string',
      value: 'FILE',
      help: 'a file that contains the URL; "-" is stdin',
    },
    check: { type: 'boolean', help: 'checks whether the target can take the data; copies nothing' },
  },
  run: (given) => withExitCode(() => moveTo(given)),
}

async function moveTo(given: Given): Promise<Outcome> {
  const { operands, env } = given
  armFailPoint(env)
  const { to, shown } = targetOf(given)
  const { checkMove, moveDatabase } = await import('@plinth/backup')
  const { data } = await serviceOf(operands[0] as string).prepare(env)
  if (given.flag('check')) {
    const tables = await checkMove(data, to)
    const text = `${tableOf(tables)}\n\nThe target can take the data. Nothing was copied.`
    return { text, json: { tables } }
  }
  const moved = await moveDatabase(data, to, given.progress.show)
  const setting = `${data.database?.setting}=${shown}`
  return {
    text: `${tableOf(moved)}\n\nBoth sides are equal. The source is unchanged. Now set\n  ${setting}`,
    json: { tables: moved, setting },
  }
}

function targetOf({ text }: Given): { to: string; shown: string } {
  const file = text('to-file')
  const url = file === undefined ? text('to') : readAddress(file)
  if (url === undefined || !/^(sqlite:.|postgres(ql)?:\/\/.)/.test(url))
    throw new CommandError(EXIT.usage, 'Usage: --to sqlite:<file>, or --to-file with postgres://….')
  const shown = withoutPassword(url)
  if (file === undefined && shown !== url)
    throw new CommandError(
      EXIT.usage,
      'Other users can read a password on the command line: put the URL in a file and use --to-file.',
    )
  return { to: url, shown }
}

function readAddress(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8').trim()
  } catch (error) {
    throw cannotRead(file, error)
  }
}

const PASSWORD = /password/i

/** For display. An ambiguous address is refused, because part of a password might be shown. */
function withoutPassword(text: string): string {
  if (text.startsWith('sqlite:')) return text
  // The driver accepts it, but no service accepts it as a setting.
  if (/^\w+:\/\/[^@/]*@\//.test(text)) throw new CommandError(EXIT.usage, SOCKET)
  const url = URL.parse(text)
  if (!url || `${url.pathname}${url.search}${url.hash}`.includes('@'))
    throw new CommandError(
      EXIT.usage,
      'The address of the target cannot be parsed: write @ / ? # : in a password as %40 %2F %3F %23 %3A.',
    )
  const parameters = [...url.searchParams.keys()].filter((name) => PASSWORD.test(name))
  if (url.password === '' && parameters.length === 0) return text
  if (url.password !== '') url.password = '***'
  for (const name of parameters) url.searchParams.set(name, '***')
  return url.href
}

const SOCKET =
  'The address of the target has no host. Write the folder of a local socket as its host: postgres://user:password@%2Frun%2Fpostgresql:5432/database'
