import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { type Clock, failPoint } from '@plinth/kit/runtime'
import type { Manifest } from './archive/manifest.ts'
import { openArchive, type Show } from './archive/read.ts'
import { openConnection } from './databases/open.ts'
import { listFaults } from './databases/schema.repository.ts'
import { lockFile } from './databases/sqlite.repository.ts'
import { type FreeBytes, orDiskFault, requireRoom } from './faults.ts'
import { restoreBackup } from './restore/restore.ts'
import { openFiles } from './sources/folder.ts'
import { createForOwner } from './sources/owner.ts'
import type { ServiceData } from './sources/service-data.ts'

/** Services whose data is all below a scratch folder, and a way to start them there. */
export type Scratch = {
  services: ServiceData[]
  /** Fails when a service does not start or is not healthy. */
  start(): Promise<void>
}

type Verification = {
  /** Must have room for everything in the archive. */
  folder: string
  freeBytes?: FreeBytes
  clock: Clock
  /** Returns the services that run here, out of those named. */
  scratchIn(folder: string, names: string[]): Promise<Scratch>
  passphrase?: string | undefined
  show?: Show
}

export type Verified = { manifest: Manifest; faults: string[] }

/**
 * Proves that an archive can be restored by restoring it: into a scratch folder, where the services
 * then start and every file is read. Nothing outside of that folder is touched.
 */
export async function verifyBackup(
  archive: string | Readable,
  { folder, freeBytes, clock, scratchIn, passphrase, show }: Verification,
): Promise<Verified> {
  const input = typeof archive === 'string' ? await openArchive(archive, show) : archive
  const scratch = await openScratch(folder).catch((error) => {
    input.destroy()
    throw orDiskFault(error, `The folder ${folder}`)
  })
  try {
    let scratched: Scratch = { services: [], start: async () => {} }
    const servicesOf = async (names: string[], { bytes = 0 }: Manifest) => {
      await requireRoom('verification', bytes, { folder, freeBytes })
      scratched = await scratchIn(scratch.path, names)
      return scratched.services
    }
    const options = { clock, scratch: folder, keepSessions: true, passphrase }
    const { manifest } = await restoreBackup(input, servicesOf, options)
    failPoint('verify:restored')
    const { services, start } = scratched
    const faults = [...(await databaseFaults(services)), ...(await fileFaults(services))]
    failPoint('verify:checked')
    await start()
    return { manifest, faults }
  } catch (error) {
    throw orDiskFault(error, `The scratch folder in ${folder}`)
  } finally {
    input.destroy()
    await scratch.remove()
  }
}

const SCRATCH = '.verify-'
const LOCK = 'lock'

/** A folder that stays locked while it is in use: one left by a killed run is not locked. */
async function openScratch(folder: string) {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const name of await readdir(folder))
    if (name.startsWith(SCRATCH)) await sweep(join(folder, name))
  const draft = await mkdtemp(join(folder, '.new-verify-'))
  await createForOwner(join(draft, LOCK))
  const lock = lockFile(join(draft, LOCK))
  // Renamed only once it is locked, so that no other run takes it for a leftover.
  const path = draft.replace('.new-verify-', SCRATCH)
  await rename(draft, path)
  const remove = async () => {
    lock?.release()
    await rm(path, { recursive: true, force: true })
  }
  return { path, remove }
}

async function sweep(path: string): Promise<void> {
  try {
    const lock = lockFile(join(path, LOCK))
    if (!lock) return
    lock.release()
    await rm(path, { recursive: true, force: true })
  } catch {
    // The service's user can neither open nor remove what root left; root's next run removes it.
  }
}

async function databaseFaults(services: ServiceData[]): Promise<string[]> {
  const faults: string[] = []
  for (const { name, database } of services) {
    if (!database) continue
    const connection = await openConnection(database.url)
    const found = await listFaults(connection).finally(() => connection.close())
    faults.push(...found.map((fault) => `${name}: ${fault}`))
  }
  return faults
}

async function fileFaults(services: ServiceData[]): Promise<string[]> {
  const faults: string[] = []
  for (const service of services) {
    const files = await openFiles(service, 'scratch')
    if (!files) continue
    for await (const fault of files.check()) faults.push(`${service.name}: ${fault}`)
    await files.close()
  }
  return faults
}
