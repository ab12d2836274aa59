import {
  type Command,
  CommandError,
  EXIT,
  type Given,
  type Outcome,
  serviceOf,
  tableOf,
} from '../../command.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'shows what starting this version would change in all databases, or those named',
  operands: ['[service…]'],
  options: {
    plan: { type: 'boolean', help: 'required: the services apply the changes when they start' },
  },
  run: plan,
}

async function plan({ operands, env, flag }: Given): Promise<Outcome> {
  if (!flag('plan'))
    throw new CommandError(
      EXIT.usage,
      'Each service migrates its database when it starts. --plan shows what it would do.',
    )
  const { missingMigrations } = await import('@plinth/kit/database')
  const { suiteData } = await import('../../../launcher/backups/suite-data.ts')
  const rows: { service: string; migration: string }[] = []
  for (const { name, database } of await suiteData(env, operands.map(serviceOf)))
    for (const migration of database
      ? await missingMigrations(database.url, database.migrations)
      : [])
      rows.push({ service: name, migration })
  return {
    text: rows.length === 0 ? 'Nothing: all databases are up to date.' : tableOf(rows),
    json: rows,
  }
}
