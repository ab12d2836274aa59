import { setTimeout as pause } from 'node:timers/promises'
import { openAccounts, runUserCommand, USER_USAGE } from '@plinth/accounts'
import { asksForHelp, createLogger, exitWith, Problem, readEnvFile, systemClock } from '@plinth/kit'
import { openStorage } from './app.ts'
import { loadConfig, type StorageFullConfig } from './config.ts'
import { PROVIDER_NAMES, type ProviderName } from './database/tables.ts'
import type { Storage } from './files/storage.ts'
import { runMoveNow } from './upkeep/jobs.ts'
import { requireMove, startMove } from './upkeep/moves.ts'
import { finishDeletions, sweep } from './upkeep/sweep.ts'
import { verifyFiles } from './upkeep/verify.ts'

const USAGE = `Usage:
  files verify            compares every file with its bytes and reports what differs
  files move --to OBJECT  moves every file to a provider (LOCAL or OBJECT)
  files sweep             finishes deletions and removes objects that belong to no file
  user …                  creates and changes accounts; alone it shows how`

const REFUSED_OR_DIFFERENT = 1
const USAGE_ERROR = 64

const OPERATOR = {
  actor: 'command line',
  origin: { address: 'command line', userAgent: null, requestId: null },
}

type Command = (storage: Storage, config: StorageFullConfig) => Promise<number>

async function main(words: string[]): Promise<number> {
  if (asksForHelp(words)) {
    console.log(words[0] === 'user' ? USER_USAGE : USAGE)
    return 0
  }
  const command = commandOf(words)
  if (command) return withStorage(command)
  console.error(USAGE)
  return USAGE_ERROR
}

/** Nothing when any word is unknown: none is ignored. */
function commandOf(words: string[]): Command | undefined {
  if (words[0] === 'user') return (storage, config) => user(storage, config, words.slice(1))
  const line = words.join(' ').replace('--to=', '--to ')
  if (line === 'files verify') return verify
  if (line === 'files sweep') return sweepNow
  const to = PROVIDER_NAMES.find((name) => line === `files move --to ${name}`)
  return to && ((storage) => move(storage, to))
}

async function withStorage(command: Command): Promise<number> {
  readEnvFile()
  const config = loadConfig()
  const log = createLogger('storage-full', 'error')
  const { storage, database } = await openStorage(config, { clock: systemClock, log })
  const code = await command(storage, config).catch(refusal)
  // After a failure the process exits without closing, so that closing cannot hide the failure.
  storage.providers.close()
  await database.close()
  return code
}

function refusal(error: unknown): number {
  if (!(error instanceof Problem)) throw error
  console.error(error.message)
  return REFUSED_OR_DIFFERENT
}

/** In production there are no accounts at first: the first administrator is created here. */
async function user({ db }: Storage, config: StorageFullConfig, words: string[]): Promise<number> {
  const accounts = await openAccounts(db, config.accounts, systemClock)
  const code = await runUserCommand(accounts, words)
  await accounts.close()
  return code
}

async function verify(storage: Storage): Promise<number> {
  let [sound, different] = [0, 0]
  for await (const finding of verifyFiles(storage)) {
    if (finding === 'sound') {
      sound += 1
      continue
    }
    different += 1
    console.log(`${finding.problem}: ${finding.subject}`)
  }
  console.log(`${sound} files are sound, ${different} differences.`)
  return different === 0 ? 0 : REFUSED_OR_DIFFERENT
}

async function sweepNow(storage: Storage): Promise<number> {
  await finishDeletions(storage)
  console.log(`${await sweep(storage)} objects without a file were removed.`)
  return 0
}

/** Works itself, or watches: a running service may be doing the same move. */
async function move(storage: Storage, to: ProviderName): Promise<number> {
  const { id } = await startMove(storage, OPERATOR, to)
  while (true) {
    await runMoveNow(storage)
    const { state, moved, failed, total, lastError } = await requireMove(storage, id)
    console.log(`${moved} of ${total} files moved, ${failed} failed.`)
    if (state !== 'RUNNING') return failed === 0 ? 0 : REFUSED_OR_DIFFERENT
    if (lastError) console.error(lastError)
    await pause(1000)
  }
}

main(process.argv.slice(2)).then((code) => process.exit(code), exitWith)
