import type { Readable } from 'node:stream'
import { VERSION } from '@plinth/kit/database'
import { fingerprintOf, type Manifest } from '../archive/manifest.ts'
import { type ReadMember, readArchive } from '../archive/read.ts'
import { requireKnown } from '../databases/fill.ts'
import { requireUnused } from '../databases/open.ts'
import { BackupError, orDiskFault } from '../faults.ts'
import type { ServiceData } from '../sources/service-data.ts'
import { Contents, type ContentsOptions } from './contents.ts'
import { Room, type RoomOptions } from './room.ts'

type RestoreOptions = RoomOptions &
  ContentsOptions & {
    /** For an encrypted archive. */
    passphrase?: string | undefined
  }

/** Returns the services that run here, out of those in the archive. */
type ServicesOf = (names: string[], manifest: Manifest) => Promise<ServiceData[]>

export type Restored = {
  manifest: Manifest
  /** Where the data from before is now. */
  setAside: string[]
  /** Where that is now which interrupted restores had put in its place. */
  leftovers: string[]
  leftOut: string[]
}

/**
 * Fills empty databases and folders from an archive. They carry a mark from before the first row until
 * the archive has proved complete, and a service does not start while the mark is there. A failure
 * puts everything back, unless an earlier restore was killed: its targets stay marked until one succeeds.
 */
export async function restoreBackup(
  input: Readable,
  servicesOf: ServicesOf,
  options: RestoreOptions,
): Promise<Restored> {
  const work = new Restoring(servicesOf, options)
  try {
    const manifest = await readArchive(
      input,
      (found) => work.begin(found),
      (member) => work.take(member),
      options.passphrase,
    )
    return { manifest, ...(await work.finish()) }
  } catch (error) {
    input.destroy()
    const { scratch } = options
    const place = scratch === undefined ? 'The target' : `The scratch folder in ${scratch}`
    const failure = orDiskFault(error, place)
    const left = await work.undo()
    if (left.length === 0) throw failure
    const why = `${(failure as Error).message} Not everything could be put back: ${left.join('; ')}.`
    throw new BackupError('cannot-create', why, { cause: failure })
  }
}

class Restoring {
  readonly #servicesOf: ServicesOf
  readonly #options: RestoreOptions
  #leftOut: string[] = []
  #room: Room | undefined
  #contents: Contents | undefined

  constructor(servicesOf: ServicesOf, options: RestoreOptions) {
    this.#servicesOf = servicesOf
    this.#options = options
  }

  /** Validates everything before changing anything. */
  async begin(manifest: Manifest): Promise<void> {
    const kept = Object.keys(manifest.services)
    const services = await this.#servicesOf(kept, manifest)
    const names = services.map(({ name }) => name)
    this.#leftOut = kept.filter((name) => !names.includes(name))
    for (const service of services) requireUsable(service, manifest)
    for (const { name, database } of services) if (database) await requireUnused(name, database.url)
    this.#room = new Room(services, this.#options)
    await this.#room.make()
    this.#contents = new Contents(services, this.#options)
    await this.#contents.begin(manifest)
  }

  async take(member: ReadMember): Promise<void> {
    await this.#contents?.take(member)
  }

  async finish(): Promise<Omit<Restored, 'manifest'>> {
    await this.#contents?.publish()
    const moved = (await this.#room?.release()) ?? { setAside: [], leftovers: [] }
    return { ...moved, leftOut: this.#leftOut }
  }

  async undo(): Promise<string[]> {
    await this.#contents?.abandon()
    return (await this.#room?.undo()) ?? []
  }
}

function requireUsable(service: ServiceData, manifest: Manifest): void {
  const { name, database, keys, missingKeys = [] } = service
  const described = manifest.services[name]
  const fingerprints = described?.keyFingerprints ?? {}
  for (const setting of [...Object.keys(keys), ...missingKeys])
    if (!(setting in fingerprints))
      throw new BackupError(
        'refused',
        `The archive has no fingerprint of the ${setting} it was made with, so it is not one of ours, or of another version.`,
      )
  for (const [setting, fingerprint] of Object.entries(fingerprints)) {
    const key = keys[setting]
    if (key && fingerprintOf(key) === fingerprint) continue
    const own = key ? `the one given has ${fingerprintOf(key)}` : 'none is given'
    throw new BackupError(
      'refused',
      `The archive needs the ${setting} it was made with (fingerprint ${fingerprint}), and ${own}.`,
    )
  }
  const versions = { data: manifest.version, code: VERSION }
  if (database) requireKnown(name, database, described?.database?.migrations ?? [], versions)
}
