import { setTimeout as pause } from 'node:timers/promises'
import { enterDataFolder } from '@plinth/kit/runtime'
import type { ProviderName, Storage } from '@plinth/storage-full'
import {
  type Command,
  CommandError,
  counted,
  EXIT,
  type Given,
  type Option,
  type Outcome,
  tableOf,
} from '../../command.ts'

const POLL_MS = 1000
const DEFAULT_LIMIT = 100
const MAX_LISTED = 10_000
const OPERATOR = {
  actor: 'command line',
  origin: { address: 'command line', userAgent: null, requestId: null },
}

type Code = typeof import('@plinth/storage-full')
type Work = (storage: Storage, code: Code, given: Given) => Promise<Outcome>

export const fileCommands: Command[] = [
  fileCommand(
    'ls',
    'lists the files, newest first',
    {
      limit: {
        type: 'string',
        value: 'N',
        help: `how many to list; ${DEFAULT_LIMIT} by default`,
      },
      page: { type: 'string', value: 'N', help: 'the page to list, starting at 0' },
      owner: { type: 'string', value: 'ID', help: 'only the files of the user with this ownerId' },
      folder: { type: 'string', value: 'PATH', help: 'only the files in this folder' },
    },
    list,
  ),
  fileCommand(
    'verify',
    'checks the stored bytes of every file and reports differences',
    {},
    verify,
  ),
  fileCommand(
    'move',
    'moves every file to a provider, LOCAL or OBJECT',
    { to: { type: 'string', value: 'PROVIDER', help: 'LOCAL or OBJECT' } },
    move,
  ),
  fileCommand('sweep', 'finishes deletions and removes objects that belong to no file', {}, sweep),
  fileCommand(
    'uploads',
    'lists the resumable uploads that have not finished, or ends one of them',
    { abort: { type: 'string', value: 'ID', help: 'end this upload and remove what has arrived' } },
    uploads,
  ),
  fileCommand(
    'trash empty',
    'removes for good the deleted files that could still be restored',
    {
      owner: { type: 'string', value: 'ID', help: 'only those of the user with this ownerId' },
    },
    emptyTrash,
  ),
  fileCommand(
    'pictures clear',
    'removes all kept renditions of pictures; they are drawn again when asked for',
    {},
    clearPictures,
  ),
]

function fileCommand(
  verb: string,
  summary: string,
  options: Record<string, Option>,
  work: Work,
): Command {
  const run = async (given: Given) => {
    const code = await import('@plinth/storage-full')
    if (verb === 'move') providerOf(given, code)
    const { storage, close } = await code.openForOperator(
      enterDataFolder(code.loadConfig(given.env)),
    )
    const outcome = await work(storage, code, given)
    // After a failure the process ends without closing, so that closing cannot hide the failure.
    await close()
    return outcome
  }
  return { name: `files ${verb}`, summary, options, run }
}

async function list(storage: Storage, code: Code, given: Given): Promise<Outcome> {
  const size = numberOf(given, 'limit', DEFAULT_LIMIT)
  const page = numberOf(given, 'page', 0)
  if (size < 1 || size > MAX_LISTED)
    throw new CommandError(EXIT.usage, `--limit: expected 1 to ${MAX_LISTED}.`)
  const asked = { page, size, offset: page * size, sort: [] }
  const ownerId = given.text('owner')
  const folder = folderOf(given, code)
  const { files, total } = await (folder === undefined
    ? code.listedPage(storage, ownerId, asked)
    : code.pageInFolder(storage, { ownerId, folder }, asked))
  const described = files.map(code.describeFile)
  const rows = described.map(
    ({ id, owner, ownerId, size, provider, createdAt, folder, originalFilename }) => ({
      ...{ id, owner, ownerId, size, provider, createdAt, folder, originalFilename },
    }),
  )
  const count = `${files.length} of ${counted(total, 'file')}.`
  const isUnknown = ownerId !== undefined && folder === undefined && total === 0
  const hint = isUnknown ? ` None has the ownerId ${ownerId}: "plinth files ls" shows the ids.` : ''
  return { text: `${tableOf(rows)}\n\n${count}${hint}`, json: { total, files: described } }
}

function folderOf({ text }: Given, { folderPath }: Code): string | undefined {
  const given = text('folder')
  if (given === undefined) return undefined
  try {
    return folderPath(given, '--folder')
  } catch (error) {
    throw new CommandError(EXIT.usage, `--folder ${given}: expected a path such as /a/b.`, {
      cause: error,
    })
  }
}

function numberOf({ text }: Given, name: string, byDefault: number): number {
  const given = text(name)
  if (given === undefined) return byDefault
  if (/^\d{1,9}$/.test(given)) return Number(given)
  throw new CommandError(EXIT.usage, `--${name} ${given}: expected a number.`)
}

async function verify(storage: Storage, { verifyFiles }: Code, given: Given): Promise<Outcome> {
  let sound = 0
  const differences: { problem: string; subject: string }[] = []
  for await (const finding of verifyFiles(storage)) {
    if (finding === 'sound') sound += 1
    else differences.push(finding)
    given.progress.show('files checked', sound + differences.length)
  }
  const intact = `${counted(sound, 'file')} ${sound === 1 ? 'is' : 'are'} sound`
  const lines = differences.map(({ problem, subject }) => `${problem}: ${subject}`)
  return {
    text: [...lines, `${intact}, ${counted(differences.length, 'difference')}.`].join('\n'),
    json: { sound, differences },
    code: differences.length === 0 ? EXIT.done : EXIT.failed,
  }
}

async function sweep(storage: Storage, code: Code): Promise<Outcome> {
  await code.finishDeletions(storage)
  await code.expireUploads(storage)
  const { removed, left } = await code.sweep(storage)
  const refused = left === 0 ? '' : ` ${counted(left, 'object')} could not be removed.`
  return {
    text: `Removed ${counted(removed, 'object')} without a file.${refused}`,
    json: { removed, left },
    code: left === 0 ? EXIT.done : EXIT.failed,
  }
}

async function uploads(storage: Storage, code: Code, given: Given): Promise<Outcome> {
  const id = given.text('abort')
  if (id !== undefined) {
    if (!(await code.abortUpload(storage, id)))
      throw new CommandError(EXIT.failed, `There is no unfinished upload ${id}.`)
    return { text: `The upload ${id} has ended.`, json: { aborted: id } }
  }
  const unfinished = await code.allUploads(storage, MAX_LISTED)
  const count = `${counted(unfinished.length, 'unfinished upload')}.`
  const table = unfinished.length === 0 ? '' : `${tableOf(unfinished)}\n\n`
  return { text: `${table}${count}`, json: { uploads: unfinished } }
}

async function emptyTrash(storage: Storage, code: Code, given: Given): Promise<Outcome> {
  const { files, bytes } = await code.emptyTrashOf(storage, given.text('owner'))
  await code.finishDeletions(storage)
  return {
    text: `Removed ${counted(files, 'file')} for good, ${bytes} bytes.`,
    json: { files, bytes },
  }
}

async function clearPictures(storage: Storage, code: Code): Promise<Outcome> {
  const { removed, bytes } = await code.clearPictures(storage)
  return {
    text: `Removed ${counted(removed, 'rendition')}, ${bytes} bytes.`,
    json: { removed, bytes },
  }
}

/** Does the move itself, or watches it if a running service is already doing it. */
async function move(storage: Storage, code: Code, given: Given): Promise<Outcome> {
  const { id } = await code.startMove(storage, OPERATOR, providerOf(given, code))
  let shown: string | null = null
  while (true) {
    await code.runMoveNow(storage)
    const { state, moved, failed, total, lastError } = await code.requireMove(storage, id)
    given.progress.show('files moved', moved, total)
    if (state !== 'RUNNING')
      return {
        text: `${moved} of ${counted(total, 'file')} moved, ${failed} failed.`,
        json: { moved, failed, total },
        code: failed === 0 ? EXIT.done : EXIT.failed,
      }
    if (lastError && lastError !== shown) console.error(lastError)
    shown = lastError
    await pause(POLL_MS)
  }
}

function providerOf({ text }: Given, { PROVIDER_NAMES }: Code): ProviderName {
  const name = PROVIDER_NAMES.find((each) => each === text('to'))
  if (name) return name
  throw new CommandError(EXIT.usage, `Usage: --to ${PROVIDER_NAMES.join(' or --to ')}.`)
}
