import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, failPoint } from '@plinth/kit'
import type { Manifest } from './archive/manifest.ts'
import type { Show } from './create.ts'
import { openConnection } from './databases/open.ts'
import { listFaults } from './databases/schema.repository.ts'
import { orDiskFault } from './faults.ts'
import { restoreBackup } from './restore/restore.ts'
import { openFiles } from './sources/folder.ts'
import type { ServiceData } from './sources/service-data.ts'

/** The services with everything below a folder of their own, and how to start them there. */
export type Scratch = {
  services: ServiceData[]
  /** Fails when a service does not start, or is not healthy. */
  start(): Promise<void>
}

type Verification = {
  /** Where there is room for everything in the archive. */
  folder: string
  clock: Clock
  scratchIn(folder: string): Promise<Scratch>
  show?: Show
}

export type Verified = { manifest: Manifest; faults: string[] }

/**
 * Proves that an archive can be restored by restoring it: into a scratch folder, where the services
 * then start and every file is read. Nothing outside of that folder is touched.
 */
export async function verifyBackup(
  file: string,
  { folder, clock, scratchIn, show }: Verification,
): Promise<Verified> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const scratch = await mkdtemp(join(folder, '.verify-'))
  try {
    const { services, start } = await scratchIn(scratch)
    const input = createReadStream(file)
    const options = { clock, scratch: true, keepSessions: true, show }
    const { manifest } = await restoreBackup(input, services, options)
    const faults = [...(await databaseFaults(services)), ...(await fileFaults(services))]
    failPoint('verify:checked')
    await start()
    return { manifest, faults }
  } catch (error) {
    throw orDiskFault(error, file)
  } finally {
    await rm(scratch, { recursive: true, force: true })
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
