import type { BackupError, KeptBackup } from '@plinth/backup'
import { armFailPoint, systemClock } from '@plinth/kit/runtime'
import type { Made } from '../../../launcher/backups/make.ts'
import { loadBackups } from '../../../launcher/config.ts'
import {
  type Command,
  CommandError,
  EXIT,
  type Given,
  type Outcome,
  tableOf,
} from '../../command.ts'

const VERIFY = {
  type: 'boolean',
  help: 'restores the archive into a scratch folder afterwards',
} as const
const OUTPUT = { type: 'string', value: 'FILE', help: '- is stdout, for a pipe' } as const

export const backupCommands: Command[] = [
  {
    name: 'backup create',
    summary: 'one archive of everything, while the services run, into BACKUP_DIR',
    options: { output: OUTPUT, verify: VERIFY },
    run: (given) => explained(() => create(given)),
  },
  {
    name: 'backup list',
    summary: 'the archives in BACKUP_DIR, newest first',
    run: (given) => explained(() => list(given)),
  },
  {
    name: 'backup verify',
    summary:
      'restores an archive into a scratch folder, starts the services there, reads every file',
    operands: ['<file>'],
    run: (given) => explained(() => verify(given, given.operands[0] as string)),
  },
  {
    name: 'backup prune',
    summary:
      'removes all but the newest BACKUP_KEEP archives, and one a week for BACKUP_KEEP_WEEKS',
    run: (given) => explained(() => prune(given)),
  },
]

const CODES: Record<BackupError['reason'], number> = {
  refused: EXIT.notSo,
  damaged: EXIT.notSo,
  'no-input': EXIT.noInput,
  unavailable: EXIT.unavailable,
  'cannot-create': EXIT.cannotCreate,
  busy: EXIT.busy,
}

/** Failures of backups in the codes of the command. */
export async function explained<T>(work: () => Promise<T>): Promise<T> {
  const { BackupError } = await import('@plinth/backup')
  try {
    return await work()
  } catch (error) {
    if (error instanceof BackupError)
      throw new CommandError(CODES[error.reason], error.message, { cause: error })
    throw error
  }
}

async function create(given: Given): Promise<Outcome | undefined> {
  const { env, progress, text, flag } = given
  armFailPoint(env)
  const { makeBackup } = await import('../../../launcher/backups/make.ts')
  const { show } = progress
  const output = text('output')
  const made =
    output === undefined
      ? await makeBackup(env, { verify: flag('verify'), show })
      : await createAt(output, given)
  if (!made) return undefined
  const { file, bytes, faults, pruned, pinged } = made
  const unheard = pinged === false ? ['BACKUP_PING_URL did not take the ping.'] : []
  return {
    text: [...faults, ...unheard, `${file} (${bytes} bytes). ${KEYS}`].join('\n'),
    json: { ...made, pruned: pruned.map(nameOf) },
    code: faults.length > 0 ? EXIT.notSo : EXIT.done,
  }
}

/** Somewhere else: nothing is removed there, and it is none of the backups that are watched. */
async function createAt(output: string, given: Given): Promise<Made | undefined> {
  const { env, progress, flag } = given
  if (output === '-' && flag('verify'))
    throw new CommandError(
      EXIT.usage,
      '--verify needs a file: --output - goes to a pipe. Use plinth backup verify on what arrives.',
    )
  const { saveBackup, writeBackup } = await import('@plinth/backup')
  const { suiteData } = await import('../../../launcher/backups/suite-data.ts')
  const services = await suiteData(env)
  const { yieldToOthers } = await import('../../../launcher/backups/make.ts')
  const { folder, passphrase } = loadBackups(env)
  const options = { clock: systemClock, show: progress.show, passphrase, pinned: yieldToOthers }
  if (output === '-') {
    await writeBackup(services, process.stdout, options)
    return undefined
  }
  const { file, bytes, manifest } = await saveBackup(services, { folder, file: output, ...options })
  const faults = flag('verify') ? (await verified(given, file)).faults : []
  const { createdAt, pausedMs } = manifest
  return { file, bytes, createdAt, pausedMs, faults, pruned: [] }
}

const KEYS = 'The master keys are not in it: keep them elsewhere, it is of no use without them.'

const nameOf = ({ file }: KeptBackup) => file

async function list({ env }: Given): Promise<Outcome> {
  const { listBackups } = await import('@plinth/backup')
  const backups = await listBackups(loadBackups(env).folder)
  return { text: tableOf(backups), json: backups }
}

async function prune({ env }: Given): Promise<Outcome> {
  const { pruneBackups } = await import('@plinth/backup')
  const config = loadBackups(env)
  const pruned = await pruneBackups(config.folder, config)
  const removed = pruned.map(({ file }) => `removed ${file}`)
  return { text: [...removed, `${pruned.length} removed.`].join('\n'), json: pruned }
}

async function verify(given: Given, file: string): Promise<Outcome> {
  armFailPoint(given.env)
  const { faults, manifest } = await verified(given, file)
  const sound = `${file} of ${manifest.createdAt}, made by Plinth ${manifest.version}, is whole.`
  return {
    text: faults.length > 0 ? faults.join('\n') : sound,
    json: { file, createdAt: manifest.createdAt, version: manifest.version, faults },
    code: faults.length > 0 ? EXIT.notSo : EXIT.done,
  }
}

async function verified({ env, progress }: Given, file: string) {
  const make = await import('../../../launcher/backups/make.ts')
  make.yieldToOthers()
  return make.verified(env, file, { show: progress.show })
}
