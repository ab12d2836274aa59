import { armFailPoint, restoreJournal, systemClock } from '@plinth/kit/runtime'
import { loadBackups } from '../../../launcher/config.ts'
import { services as entries } from '../../../launcher/services.ts'
import type { Command, Given, Outcome } from '../../command.ts'
import { withExitCode } from './backup.ts'

export const restore: Command = {
  name: 'restore',
  summary: 'fills empty databases and folders from an archive; the services must be stopped',
  operands: ['<file>'],
  options: {
    replace: {
      type: 'boolean',
      help: 'moves existing data aside instead of refusing',
    },
    'keep-sessions': { type: 'boolean', help: 'keeps users signed in as they were at the backup' },
  },
  run: (given) => withExitCode(() => restoreFrom(given)),
}

async function restoreFrom({ operands, env, flag, text, progress }: Given): Promise<Outcome> {
  armFailPoint(env)
  const { restoreBackup } = await import('@plinth/backup')
  const { openNamed } = await import('../../../launcher/backups/open-archive.ts')
  const { dataOfStopped } = await import('../../../launcher/backups/suite-data.ts')
  const [file = ''] = operands
  const isNamed = text('data') !== undefined
  const servicesOf = (names: string[]) => dataOfStopped(env, names, { isNamed })
  const { passphrase, dataFolder } = loadBackups(env)
  // Progress counts the bytes of the archive. The length of stdin is unknown, so there it counts restored files.
  const [input, show] =
    file === '-'
      ? [process.stdin, progress.show]
      : [await openNamed(env, file, progress.show), undefined]
  const { manifest, leftOut, ...moved } = await restoreBackup(input, servicesOf, {
    clock: systemClock,
    replace: flag('replace'),
    keepSessions: flag('keep-sessions'),
    passphrase,
    journal: restoreJournal(dataFolder),
    show,
  })
  const { createdAt, version, services } = manifest
  const setAside = [...new Set(moved.setAside)]
  const leftovers = [...new Set(moved.leftovers)]
  const restored = entries.filter(({ name }) => name in services && !leftOut.includes(name))
  const lines = [
    `Restored the state of ${createdAt}, as saved by Plinth ${version}.`,
    ...leftOut.map((name) => `Left out, because these settings do not run it: ${name}.`),
    ...setAside.map((place) => `The previous data is now in ${place}.`),
    ...leftovers.map((place) => `What an interrupted restore left is now in ${place}: delete it.`),
    flag('keep-sessions') ? 'Sessions are as they were.' : 'All users have to sign in again.',
    ...restored.flatMap(({ afterRestore }) => afterRestore ?? []),
  ]
  return { text: lines.join('\n'), json: { createdAt, version, leftOut, setAside, leftovers } }
}
