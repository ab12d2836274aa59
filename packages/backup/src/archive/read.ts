import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { PassThrough, type Readable, Transform, pipeline as through } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { VERSION } from '@plinth/kit'
import { extract } from 'tar-stream'
import { BackupError } from '../faults.ts'
import { ENDING, type Ending, FORMAT, MANIFEST, type Manifest } from './manifest.ts'
import { unsealing } from './sealed.ts'

/** Reports progress: `done` of `total`, if the total is known. */
export type Show = (label: string, done: number, total?: number) => void

/** Opens the archive before anything else happens, so that a missing file is not blamed on the target. */
export async function openArchive(file: string, show: Show = () => {}): Promise<Readable> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(file, error.code === 'ENOENT' ? 'there is no such file' : error.code)
  })
  const found = await handle.stat()
  if (found.isDirectory()) {
    await handle.close()
    throw unreadable(file, 'it is a folder')
  }
  let read = 0
  const counted = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      read += chunk.length
      show('bytes of the archive', read, found.size)
      done(null, chunk)
    },
  })
  return through(handle.createReadStream(), counted, () => {})
}

function unreadable(file: string, why = 'it cannot be opened'): BackupError {
  return new BackupError('no-input', `${file} cannot be read: ${why}.`)
}

export type ReadMember = { name: string; size: number; bytes: Readable }

/**
 * Passes each member to `use` in order, and returns only when the whole archive has proved intact.
 * Until then nothing that was read may be trusted.
 */
export async function readArchive(
  input: Readable,
  onManifest: (manifest: Manifest) => Promise<void>,
  use: (member: ReadMember) => Promise<void>,
  passphrase?: string,
): Promise<Manifest> {
  const tar = extract()
  const unpacked = pipeline(input, unsealing(passphrase), createZstdDecompress(), tar)
  unpacked.catch(() => {})
  const digest = createHash('sha256')
  let [members, manifest, ending] = [0, undefined as Manifest | undefined, '']
  try {
    for await (const entry of tar) {
      const { name = '', size = 0 } = entry.header
      if (ending !== '') throw damaged('there is data after its end')
      const content = createHash('sha256')
      const bytes = hashing(entry as unknown as Readable, (chunk) => content.update(chunk))
      if (manifest === undefined) {
        manifest = readManifest(name, await textOf(bytes))
        await onManifest(manifest)
      } else if (name === ENDING) ending = await textOf(bytes)
      else await use({ name, size, bytes })
      // Bytes that `use` did not read count towards the digest, too.
      if (!bytes.readableEnded) await finished(bytes.resume())
      if (name === ENDING) continue
      members += 1
      digest.update(`${name} ${size} ${content.digest('hex')}\n`)
    }
    await unpacked
  } catch (error) {
    tar.destroy()
    throw isFormatError(error) ? damaged((error as Error).message, error) : error
  }
  requireEnding(ending, { members, sha256: digest.digest('hex') })
  return manifest as Manifest
}

function hashing(entry: Readable, update: (chunk: Buffer) => void): Readable {
  const through = new PassThrough()
  entry.on('data', update)
  entry.on('error', (error) => through.destroy(error))
  return entry.pipe(through)
}

async function textOf(bytes: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of bytes) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function readManifest(name: string, text: string): Manifest {
  if (name !== MANIFEST) throw damaged('it does not begin with a manifest')
  const manifest: Manifest = JSON.parse(text)
  if (manifest.format !== FORMAT)
    throw new BackupError(
      'refused',
      `The archive was made by Plinth ${manifest.version} in format ${manifest.format}, but this is Plinth ${VERSION}, which reads format ${FORMAT}.`,
    )
  return manifest
}

function requireEnding(text: string, found: Ending): void {
  if (text === '') throw damaged('its end is missing')
  const { members, sha256 }: Ending = JSON.parse(text)
  if (members !== found.members || sha256 !== found.sha256)
    throw damaged('its contents do not match its digest')
}

const FORMAT_ERROR = /^(ERR_ZSTD|ZSTD_|Z_|ZLIB)/

/** Whether zstd, tar or JSON failed because the bytes are not in their format. */
function isFormatError(error: unknown): boolean {
  if (error instanceof BackupError) return false
  const { code = '', message = '' } = error as NodeJS.ErrnoException
  return (
    FORMAT_ERROR.test(code) ||
    error instanceof SyntaxError ||
    /^(Unexpected end of data|Invalid tar header|unexpected end of file)/i.test(message)
  )
}

function damaged(why: string, cause?: unknown): BackupError {
  const reason = why.replace(/\.$/, '')
  return new BackupError('damaged', `The archive is damaged or not one of ours: ${reason}.`, {
    cause,
  })
}
