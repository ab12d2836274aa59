import { readFileSync } from 'node:fs'
import { armFailPoint } from '@plinth/kit/runtime'
import {
  type Command,
  CommandError,
  EXIT,
  type Given,
  type Outcome,
  serviceOf,
  tableOf,
} from '../../command.ts'
import { explained } from './backup.ts'

export const move: Command = {
  name: 'move',
  summary: 'copies the database of a stopped service to SQLite or PostgreSQL, and compares both',
  operands: ['<service>'],
  options: {
    to: { type: 'string', value: 'URL', help: 'sqlite:<file> or postgres://…, without a password' },
    'to-file': { type: 'string', value: 'FILE', help: 'a file that holds the URL; - is stdin' },
    check: { type: 'boolean', help: 'says whether the target would take it, and copies nothing' },
  },
  run: (given) => explained(() => moveTo(given)),
}

async function moveTo(given: Given): Promise<Outcome> {
  const { operands, env } = given
  armFailPoint(env)
  const to = targetOf(given)
  const { checkMove, moveDatabase } = await import('@plinth/backup')
  const { data } = await serviceOf(operands[0] as string).prepare(env)
  if (given.flag('check')) {
    const tables = await checkMove(data, to)
    const text = `${tableOf(tables)}\n\nThe target takes it. Nothing was copied.`
    return { text, json: { tables } }
  }
  const moved = await moveDatabase(data, to)
  const setting = `${data.database?.setting}=${withoutPassword(to)}`
  return {
    text: `${tableOf(moved)}\n\nBoth sides are equal. Nothing has changed where it came from. Now set\n  ${setting}`,
    json: { tables: moved, setting },
  }
}

function targetOf({ text }: Given): string {
  const file = text('to-file')
  const url = file === undefined ? text('to') : readFileSync(file === '-' ? 0 : file, 'utf8').trim()
  if (url === undefined || !/^(sqlite:.|postgres(ql)?:\/\/.)/.test(url))
    throw new CommandError(EXIT.usage, 'Usage: --to sqlite:<file>, or --to-file with postgres://….')
  if (file === undefined && withoutPassword(url) !== url)
    throw new CommandError(
      EXIT.usage,
      'A password on the command line can be read by others: put the URL into a file, and use --to-file.',
    )
  return url
}

function withoutPassword(url: string): string {
  return url.replace(/^(postgres(?:ql)?:\/\/[^:@/]*):[^@/]*@/, '$1:…@')
}
