import { basename } from 'node:path'
import type { Writable } from 'node:stream'
import type { BackupError, KeptBackup } from '@plinth/backup'
import { armFailPoint, systemClock } from '@plinth/kit/runtime'
import type { BackupBucket } from '../../../launcher/backups/bucket.ts'
import type { Made } from '../../../launcher/backups/make.ts'
import { type BucketConfig, IN_BUCKET, loadBackups } from '../../../launcher/config.ts'
import type { ServiceEntry } from '../../../launcher/services.ts'
import {
  type Command,
  CommandError,
  EXIT,
  type Given,
  type Outcome,
  serviceOf,
  tableOf,
} from '../../command.ts'

const VERIFY = {
  type: 'boolean',
  help: 'test-restores the archive into a scratch folder afterwards',
} as const
const OUTPUT = {
  type: 'string',
  value: 'FILE',
  help: 'writes to this file instead; "-" is stdout, for a pipe',
} as const

export const backupCommands: Command[] = [
  {
    name: 'backup create',
    summary:
      'backs up all services with data, or those named, to one archive in BACKUP_DIR, even while they run',
    operands: ['[service…]'],
    options: { output: OUTPUT, verify: VERIFY },
    run: (given) => withExitCode(() => create(given)),
  },
  {
    name: 'backup list',
    summary: 'lists the archives in BACKUP_DIR and in BACKUP_BUCKET, newest first',
    run: (given) => withExitCode(() => list(given)),
  },
  {
    name: 'backup verify',
    summary:
      'restores an archive into a scratch folder, starts the services there and reads every file',
    operands: ['<file>'],
    run: (given) => withExitCode(() => verify(given, given.operands[0] as string)),
  },
  {
    name: 'backup prune',
    summary:
      'removes all but the newest BACKUP_KEEP archives, one a week for BACKUP_KEEP_WEEKS, and the last good one',
    run: (given) => withExitCode(() => prune(given)),
  },
]

const CODES: Record<BackupError['reason'], number> = {
  refused: EXIT.failed,
  damaged: EXIT.failed,
  'no-input': EXIT.noInput,
  unavailable: EXIT.unavailable,
  'cannot-create': EXIT.cannotCreate,
  busy: EXIT.busy,
}

/** Turns a BackupError into a CommandError with the matching exit code. */
export async function withExitCode<T>(work: () => Promise<T>): Promise<T> {
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
  const { env, operands, progress, text, flag } = given
  armFailPoint(env)
  const only = operands.map(serviceOf)
  const { makeBackup } = await import('../../../launcher/backups/make.ts')
  const { show } = progress
  const output = text('output')
  const made =
    output === undefined
      ? await makeBackup(env, { verify: flag('verify'), only, show })
      : await createAt(output, only, given)
  if (!made) return undefined
  const { file, bytes, services, leftOut, faults, pruned, pinged, copy } = made
  const unheard = pinged === false ? ['BACKUP_PING_URL did not accept the ping.'] : []
  const kept = `It has ${bytes} bytes and contains ${services.join(', ')}.`
  const copied = copy === undefined ? [] : [`A copy is in the bucket: ${copy}.`]
  return {
    text: file,
    note: [...faults, ...unheard, kept, ...copied, ...leftOut.map(withoutData), KEYS].join('\n'),
    json: { ...made, pruned: pruned.map(nameOf) },
    code: faults.length > 0 ? EXIT.failed : EXIT.done,
  }
}

/** Writes outside BACKUP_DIR: prunes nothing there, and the backup does not count for monitoring. */
async function createAt(
  output: string,
  only: ServiceEntry[],
  given: Given,
): Promise<Made | undefined> {
  const { env, progress, flag } = given
  if (output === '-' && flag('verify'))
    throw new CommandError(
      EXIT.usage,
      '--verify needs a file: --output - goes to a pipe. Use plinth backup verify on the result.',
    )
  if (output === '-' && npmWritesToStdout(env))
    throw new CommandError(
      EXIT.usage,
      'npm would write two lines of its own into the archive. Use npm run --silent plinth -- backup create --output -.',
    )
  const { saveBackup, writeBackup } = await import('@plinth/backup')
  const { dataToKeep } = await import('../../../launcher/backups/suite-data.ts')
  const { kept, leftOut } = await dataToKeep(env, only)
  const { lowerPriority } = await import('../../../launcher/backups/make.ts')
  const { folder, passphrase } = loadBackups(env)
  const options = { clock: systemClock, show: progress.show, passphrase, pinned: lowerPriority }
  if (output === '-') {
    await namingFault(process.stdout, () => writeBackup(kept, process.stdout, options))
    progress.end()
    // Stdout carries the archive itself, so these go to stderr.
    for (const name of leftOut) console.error(withoutData(name))
    return undefined
  }
  const { file, bytes, manifest } = await saveBackup(kept, { folder, file: output, ...options })
  const faults = flag('verify') ? (await verified(given, file)).faults : []
  const { createdAt, pausedMs } = manifest
  const services = kept.map(({ name }) => name)
  return { file, bytes, createdAt, services, leftOut, pausedMs, faults, pruned: [] }
}

/** `npm run` prints the name of the script and the command first, even into a pipe. */
function npmWritesToStdout({
  npm_lifecycle_event: script,
  npm_config_loglevel: level,
}: Given['env']) {
  return script === 'plinth' && level !== 'silent'
}

/** Tells a broken pipe, or a full disk that stdout is directed to, from faults of the data. */
async function namingFault(stdout: Writable, work: () => Promise<unknown>): Promise<void> {
  let fault: NodeJS.ErrnoException | undefined
  stdout.once('error', (error) => {
    fault = error
  })
  try {
    await work()
  } catch (error) {
    if (fault === undefined) throw error
    throw new CommandError(EXIT.cannotCreate, `The output cannot be written: ${fault.code}.`, {
      cause: error,
    })
  }
}

const withoutData = (name: string) => `Left out, because it has no data here: ${name}.`

const KEYS =
  'It does not contain the master keys. Keep them elsewhere: the archive is useless without them.'

const nameOf = ({ file }: KeptBackup) => file

async function list({ env }: Given): Promise<Outcome> {
  const { listBackups } = await import('@plinth/backup')
  const { folder, bucket } = loadBackups(env)
  const there = await inBucket(bucket, (store) => store.list())
  const backups = [...(await listBackups(folder)), ...there]
  return { text: tableOf(backups), json: backups }
}

async function inBucket<T>(
  config: BucketConfig | undefined,
  work: (store: BackupBucket) => Promise<T[]>,
): Promise<T[]> {
  if (!config) return []
  const { openBucket } = await import('../../../launcher/backups/bucket.ts')
  const store = openBucket(config)
  return work(store).finally(() => store.close())
}

async function prune({ env }: Given): Promise<Outcome> {
  const { pruneBackups, readRecord } = await import('@plinth/backup')
  const config = loadBackups(env)
  // The newest archives may be those that failed verification.
  const { succeeded } = await readRecord(config.record)
  const spare = succeeded?.file
  const here = await pruneBackups(config.folder, { ...config, spare })
  const copy = spare && `${IN_BUCKET}${basename(spare)}`
  const there = await inBucket(config.bucket, (store) => store.prune({ ...config, spare: copy }))
  const pruned = [...here, ...there]
  const removed = pruned.map(({ file }) => `removed ${file}`)
  return { text: [...removed, `${pruned.length} removed.`].join('\n'), json: pruned }
}

async function verify(given: Given, file: string): Promise<Outcome> {
  armFailPoint(given.env)
  const { faults, manifest } = await verified(given, file)
  const { createdAt, version } = manifest
  const services = Object.keys(manifest.services)
  const about = `${file} from ${createdAt}, made by Plinth ${version}`
  return {
    text:
      faults.length > 0
        ? faults.join('\n')
        : `${about}, is intact. It contains ${services.join(', ')}.`,
    json: { file, createdAt, version, services, faults },
    code: faults.length > 0 ? EXIT.failed : EXIT.done,
  }
}

async function verified({ env, progress }: Given, file: string) {
  const make = await import('../../../launcher/backups/make.ts')
  make.lowerPriority()
  return make.verified(env, file, { show: progress.show })
}
