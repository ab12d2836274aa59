import { existsSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { missingMigrations, VERSION } from '@plinth/kit/database'
import { type Clock, failPoint } from '@plinth/kit/runtime'
import { MAX_ROW } from './archive/bounds.ts'
import { FORMAT, fingerprintOf, type Manifest, rowsMember } from './archive/manifest.ts'
import type { Show } from './archive/read.ts'
import { type ArchiveWriter, openArchiveWriter } from './archive/write.ts'
import { fileOf, openSnapshots } from './databases/open.ts'
import { streamRows } from './databases/rows.repository.ts'
import { contentsOf, databaseBytes, tableNames } from './databases/schema.repository.ts'
import { sealsOf } from './databases/seals.repository.ts'
import { MARK, type Row, type Snapshot } from './databases/tables.ts'
import { BackupError } from './faults.ts'
import { openFiles } from './sources/folder.ts'
import type { ServiceData, StoredFiles } from './sources/service-data.ts'

/** A service with a snapshot of its database and a hold on its files. */
type Held = { service: ServiceData; snapshot?: Snapshot; files?: StoredFiles }

export type WriteOptions = {
  clock: Clock
  show?: Show
  /** Encrypts the archive. */
  passphrase?: string | undefined
  /** Called once the backup no longer blocks writers. */
  pinned?: () => void
  /** Called with the size of the data before the first byte is written; throws if it does not fit. */
  requireRoom?: (bytes: number) => Promise<void>
}

/** Backs up everything the services keep, as of one moment, while they run. */
export async function writeBackup(
  services: ServiceData[],
  output: Writable,
  { clock, show = () => {}, passphrase, pinned: onPinned, requireRoom }: WriteOptions,
): Promise<Manifest> {
  const opened: { close(): Promise<void> }[] = []
  for (const service of services) await requireCurrent(service)
  try {
    const files = await holdFiles(services, opened)
    failPoint('backup:held')
    // Files are listed after the databases are pinned: at worst the archive has a file that no row refers to.
    const withDatabase = services.filter(({ database }) => database)
    const pinned = await openSnapshots(withDatabase.map(({ database }) => database?.url ?? ''))
    opened.push(pinned)
    onPinned?.()
    failPoint('backup:pinned')
    const held = services.map((service, index): Held => {
      const snapshot = pinned.snapshots[withDatabase.indexOf(service)]
      return { service, snapshot, files: files[index] }
    })
    const size = await sizeOf(held)
    await requireRoom?.(size.bytes)
    const manifest = await describe(held, {
      createdAt: clock().toISOString(),
      pausedMs: pinned.pausedMs,
      bytes: size.bytes,
    })
    const writer = await openArchiveWriter(output, manifest, passphrase)
    await writeMembers(held, writer, manifest, progressOf(show, manifest, size.files))
    return manifest
  } finally {
    for (const { close } of opened.toReversed()) await close()
  }
}

/** Whether a service was ever started on this data: its database or its folder exists. */
export async function hasData({ database, root }: ServiceData): Promise<boolean> {
  if (root !== undefined && existsSync(root)) return true
  if (!database) return false
  const file = fileOf(database.url)
  if (file !== undefined) return existsSync(file)
  const missing = await missingMigrations(database.url, database.migrations)
  return missing.length < database.migrations.length
}

/** Opening the files would migrate an older database, and a backup must not do that. */
async function requireCurrent(service: ServiceData): Promise<void> {
  const { name, database, root } = service
  if ((database || root !== undefined) && !(await hasData(service)))
    throw new BackupError('refused', `${name} has no data yet: start it once.`)
  const missing = database ? await missingMigrations(database.url, database.migrations) : []
  if (missing.length === 0) return
  if (missing.length === database?.migrations.length)
    throw new BackupError(
      'refused',
      `${name} has files but no database: bring the database back first.`,
    )
  throw new BackupError(
    'refused',
    `The data of ${name} is older than Plinth ${VERSION}: start this version once, or make the backup with the version that wrote it.`,
  )
}

/** Runs before the snapshots, so that files deleted after that moment can still be read. */
async function holdFiles(
  services: ServiceData[],
  opened: { close(): Promise<void> }[],
): Promise<(StoredFiles | undefined)[]> {
  const held: (StoredFiles | undefined)[] = []
  for (const service of services) {
    const files = await openFiles(service, 'backup')
    if (files) {
      opened.push(files)
      await files.hold()
    }
    held.push(files)
  }
  return held
}

async function sizeOf(held: Held[]): Promise<{ bytes: number; files: number }> {
  let [bytes, count] = [0, 0]
  for (const { snapshot, files } of held) {
    if (snapshot) bytes += await databaseBytes(snapshot)
    if (!files) continue
    for await (const { size } of files.list()) {
      bytes += size
      count += 1
    }
  }
  return { bytes, files: count }
}

type Count = { rows(more: number): void; file(): void }

/** Progress over all services together: one bar for rows, one for files. */
function progressOf(show: Show, { services }: Manifest, files: number): Count {
  const tables = Object.values(services).flatMap(({ database }) => database?.tables ?? [])
  const total = tables.reduce((sum, { rows }) => sum + rows, 0)
  let [rowsDone, filesDone] = [0, 0]
  return {
    rows: (more) => {
      rowsDone += more
      show('rows', rowsDone, total)
    },
    file: () => show('files', ++filesDone, files),
  }
}

async function describe(
  held: Held[],
  about: Pick<Manifest, 'createdAt' | 'pausedMs' | 'bytes'>,
): Promise<Manifest> {
  const services: Manifest['services'] = {}
  for (const { service, snapshot, files } of held) {
    const keys = Object.entries(service.keys)
    const database = snapshot && (await contentsOf(snapshot, service.database?.derived))
    if (snapshot) {
      await requireWhole(service, snapshot)
      await requireOwnKeys(service, snapshot)
    }
    services[service.name] = {
      keyFingerprints: Object.fromEntries(keys.map(([name, key]) => [name, fingerprintOf(key)])),
      database,
      files: files !== undefined,
    }
  }
  return { format: FORMAT, version: VERSION, ...about, services }
}

async function requireWhole({ name }: ServiceData, snapshot: Snapshot): Promise<void> {
  if (!(await tableNames(snapshot)).includes(MARK)) return
  const why = `A restore or a move into the database of ${name} has not ended: it is not whole.`
  throw new BackupError('refused', why)
}

/** With the wrong key set, the archive would ask for a key that opens nothing in it. */
async function requireOwnKeys(
  { name, keys, database }: ServiceData,
  { run }: Snapshot,
): Promise<void> {
  for (const [setting, key] of Object.entries(keys)) {
    // One value sealed with an old key, such as the secret of an unused endpoint, must not stop every backup.
    const { hasOwn, foreign } = await sealsOf(run, key, database?.sealed ?? {})
    if (!hasOwn && foreign !== undefined)
      throw new BackupError(
        'refused',
        `${setting} is not the key of the data of ${name}: ${foreign}.`,
      )
  }
}

async function writeMembers(
  held: Held[],
  writer: ArchiveWriter,
  { services }: Manifest,
  count: Count,
): Promise<void> {
  try {
    for (const { service, snapshot } of held)
      for (const table of services[service.name]?.database?.tables ?? [])
        if (snapshot)
          await writeRows(writer, streamRows(snapshot, table), count, (part) =>
            rowsMember(service.name, table.name, part),
          )
    failPoint('backup:rows')
    for (const { service, files } of held)
      if (files) await writeFiles(writer, service.name, files, count)
    failPoint('backup:files')
    await writer.finish()
  } catch (error) {
    await writer.abort(error)
    throw error
  }
}

/** Small enough to buffer: the size of a member precedes its bytes. */
const PART_CHARACTERS = 2 ** 20

async function writeRows(
  writer: ArchiveWriter,
  batches: AsyncIterable<Row[]>,
  count: Count,
  nameOf: (part: number) => string,
): Promise<void> {
  let [part, text] = [0, '']
  for await (const rows of batches) {
    for (const row of rows) {
      const line = JSON.stringify(row)
      if (line.length > MAX_ROW)
        throw new BackupError(
          'refused',
          `${nameOf(part + 1)} would hold a row that no restore accepts.`,
        )
      text += `${line}\n`
      if (text.length < PART_CHARACTERS) continue
      await writer.text(nameOf(++part), text)
      text = ''
    }
    count.rows(rows.length)
  }
  if (text !== '') await writer.text(nameOf(++part), text)
}

async function writeFiles(
  writer: ArchiveWriter,
  service: string,
  files: StoredFiles,
  count: Count,
): Promise<void> {
  let first = true
  for await (const { name, size } of files.list()) {
    const bytes = await files.open(name)
    if (!bytes) continue
    await writer.file(`files/${service}/${name}`, size, bytes)
    count.file()
    if (first) failPoint('backup:file')
    first = false
  }
}
