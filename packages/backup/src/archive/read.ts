import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { type Readable, Transform, pipeline as through } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { constants, createZstdDecompress } from 'node:zlib'
import { VERSION } from '@plinth/kit/database'
import { extract } from 'tar-stream'
import { BackupError, damaged } from '../faults.ts'
import { createBounds, textOf } from './bounds.ts'
import { ENDING, type Ending, FORMAT, isManifest, MANIFEST, type Manifest } from './manifest.ts'
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
  return showingBytes(handle.createReadStream(), found.size, show)
}

export function showingBytes(input: Readable, bytes: number, show: Show): Readable {
  let read = 0
  const counted = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      read += chunk.length
      show('bytes of the archive', read, bytes)
      done(null, chunk)
    },
  })
  return through(input, counted, () => {})
}

function unreadable(file: string, why = 'it cannot be opened'): BackupError {
  return new BackupError('no-input', `${file} cannot be read: ${why}.`)
}

/** Four times what our writer uses: the decompressor holds this much in memory, and an archive may ask for more. */
const SMALL_WINDOW = { [constants.ZSTD_d_windowLogMax]: 23 }

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
  const bounds = createBounds()
  const unzipped = createZstdDecompress({ params: SMALL_WINDOW })
  const unpacked = pipeline(
    input,
    bounds.packed,
    unsealing(passphrase),
    unzipped,
    bounds.headers,
    tar,
  )
  unpacked.catch(() => {})
  const digest = createHash('sha256')
  let [members, manifest, ending] = [0, undefined as Manifest | undefined, '']
  try {
    for await (const entry of tar) {
      const { name = '', size = 0 } = entry.header
      if (ending !== '') throw damaged('there is data after its end')
      bounds.beginMember()
      const content = createHash('sha256')
      const bytes = watched(entry as unknown as Readable, (chunk) => {
        bounds.addContent(chunk.length)
        content.update(chunk)
      })
      if (manifest === undefined) {
        manifest = await readManifest(name, bytes)
        bounds.setDeclared(manifest.bytes)
        await onManifest(manifest)
      } else if (name === ENDING) ending = await textOf(bytes, 'end')
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

function watched(entry: Readable, watch: (chunk: Buffer) => void): Readable {
  const through = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      try {
        watch(chunk)
        done(null, chunk)
      } catch (error) {
        done(error as Error)
      }
    },
  })
  entry.on('error', (error) => through.destroy(error))
  return entry.pipe(through)
}

async function readManifest(name: string, bytes: Readable): Promise<Manifest> {
  if (name !== MANIFEST) throw damaged('it does not begin with a manifest')
  const found: unknown = JSON.parse(await textOf(bytes, 'manifest'))
  const { format, version } = (found ?? {}) as Partial<Manifest>
  if (typeof format === 'number' && format !== FORMAT)
    throw new BackupError(
      'refused',
      `The archive was made by Plinth ${version} in format ${format}, but this is Plinth ${VERSION}, which reads format ${FORMAT}.`,
    )
  if (!isManifest(found)) throw damaged('its manifest is not one')
  return found
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
