import type { Readable } from 'node:stream'
import { VERSION } from '@plinth/kit/database'
import { type Clock, failPoint } from '@plinth/kit/runtime'
import { linesOf } from '../archive/bounds.ts'
import { fingerprintOf, type Manifest, memberOf } from '../archive/manifest.ts'
import { type ReadMember, readArchive, type Show } from '../archive/read.ts'
import { type Filling, mark, release, requireKnown, startFilling } from '../databases/fill.ts'
import { requireUnused } from '../databases/open.ts'
import type { Row } from '../databases/tables.ts'
import { BackupError, damaged, orDiskFault } from '../faults.ts'
import { openFiles } from '../sources/folder.ts'
import type { ServiceData, StoredFiles } from '../sources/service-data.ts'
import { type Aside, type Journal, readJournal, removeJournal, writeJournal } from './journal.ts'
import { isUnfinished, markFolder, type Place, placesOf, releaseFolder } from './place.ts'
import { openStaging, type Staging } from './staging.ts'

export type RestoreOptions = {
  clock: Clock
  /** Moves existing data aside instead of refusing to restore. */
  replace?: boolean
  keepSessions?: boolean
  /** For an encrypted archive. */
  passphrase?: string | undefined
  /** The file that lists what a restore has begun. Without it, a killed restore cannot be completed. */
  journal?: string
  /** The scratch folder of a verification. Everything stays in the services' folders: no bucket is written to. */
  scratch?: string
  show?: Show
}

/** Returns the services that run here, out of those in the archive. */
export type ServicesOf = (names: string[], manifest: Manifest) => Promise<ServiceData[]>

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

type Move = Omit<Aside, 'place'> & { place: Place }
type Plan = { toMove: Move[]; toClear: Place[]; refused: string[] }

class Restoring {
  readonly #options: RestoreOptions
  readonly #stamp: string
  readonly #servicesOf: ServicesOf
  #services: ServiceData[] = []
  #empty: Place[] = []
  #setAside: { place: Place; to: string }[] = []
  #fillings = new Map<string, Filling>()
  #stagings: Staging[] = []
  #files: Map<string, StoredFiles> | undefined
  #leftOut: string[] = []
  #interrupted: Journal | undefined
  #journal: Journal = { since: '', services: [], aside: [] }
  #begun = false
  #done = 0

  constructor(servicesOf: ServicesOf, options: RestoreOptions) {
    this.#servicesOf = servicesOf
    this.#options = options
    this.#stamp = options.clock().toISOString().replace(/[-:.]/g, '')
  }

  /** Validates everything before changing anything. */
  async begin(manifest: Manifest): Promise<void> {
    const kept = Object.keys(manifest.services)
    this.#services = await this.#servicesOf(kept, manifest)
    const names = this.#services.map(({ name }) => name)
    this.#leftOut = kept.filter((name) => !names.includes(name))
    for (const service of this.#services) requireUsable(service, manifest)
    for (const { name, database } of this.#services)
      if (database) await requireUnused(name, database.url)
    await this.#makeRoom()
    for (const { name, database } of this.#services) {
      const contents = manifest.services[name]?.database
      if (database && contents) this.#fillings.set(name, await startFilling(database, contents))
    }
    failPoint('restore:begun')
  }

  /**
   * The journal comes first: from then on no service starts in this data folder, and the restore can be run again
   * after a kill. A database is marked before its files are moved, so that no service sees one without the other.
   */
  async #makeRoom(): Promise<void> {
    this.#interrupted = await readJournal(this.#options.journal)
    const { toMove, toClear } = await this.#plan(this.#interrupted)
    const names = this.#services.map(({ name }) => name)
    const begun = this.#interrupted?.services ?? []
    this.#journal = {
      since: this.#interrupted?.since ?? this.#options.clock().toISOString(),
      services: [...begun, ...names.filter((name) => !begun.includes(name))],
      aside: asideAfter(this.#interrupted, toMove),
    }
    await writeJournal(this.#options.journal, this.#journal)
    this.#begun = true
    failPoint('restore:listed')
    for (const { root, database } of this.#services) if (root && !database) await markFolder(root)
    for (const { place, stamp, to } of toMove) {
      await place.setAside(stamp)
      this.#setAside.push({ place, to })
      failPoint('restore:aside')
    }
    for (const place of toClear) await place.clear()
    for (const { database } of this.#services) {
      if (database) await mark(database)
      failPoint('restore:mark')
    }
    for (const one of this.#journal.aside) one.isDone = true
    await writeJournal(this.#options.journal, this.#journal)
    failPoint('restore:marked')
  }

  /** What is in the way of the restore, and what becomes of it. */
  async #plan(was: Journal | undefined): Promise<Plan> {
    const plan: Plan = { toMove: [], toClear: [], refused: [] }
    for (const service of this.#services) {
      const isBegun = was?.services.includes(service.name) ?? false
      const isMarked = await isUnfinished(service)
      for (const place of placesOf(service)) {
        const begun = was?.aside.find((one) => one.place === place.name && !one.isDone)
        if (begun) plan.toMove.push({ ...begun, place })
        else if (await place.isEmpty()) this.#empty.push(place)
        else this.#planOccupied(plan, place, { isBegun, isMarked })
      }
    }
    if (plan.refused.length === 0) return plan
    throw new BackupError(
      'refused',
      `There is data already in ${plan.refused.join(', ')}: restore to another place, or use --replace to move it aside.`,
    )
  }

  #planOccupied(plan: Plan, place: Place, found: { isBegun: boolean; isMarked: boolean }): void {
    const { isBegun, isMarked } = found
    // Marked by the restore that was killed, so no service has ever used it.
    if (isBegun && isMarked) plan.toClear.push(place)
    else if (isBegun || isMarked) plan.toMove.push(this.#moveOf(place, false))
    else if (this.#options.replace) plan.toMove.push(this.#moveOf(place, true))
    else plan.refused.push(place.name)
  }

  #moveOf(place: Place, isPrevious: boolean): Move {
    return { place, stamp: this.#stamp, to: place.asideOf(this.#stamp), isPrevious, isDone: false }
  }

  async take({ name, size, bytes }: ReadMember): Promise<void> {
    const member = memberOf(name)
    if (!member) throw new BackupError('damaged', `The archive has an unknown member "${name}".`)
    if (this.#leftOut.includes(member.service)) return
    if (member.kind === 'rows') {
      const filling = this.#fillings.get(member.service)
      for await (const lines of linesOf(bytes, member.table))
        await filling?.insert(member.table, lines.map(rowOf))
      failPoint('restore:rows')
      return
    }
    const files = (await this.#openFiles()).get(member.service)
    await files?.put({ name: member.name, size }, bytes)
    this.#done += 1
    this.#options.show?.('files restored', this.#done)
    failPoint('restore:file')
  }

  /** Rows come before files, because the rows say where the files go. */
  async #openFiles(): Promise<Map<string, StoredFiles>> {
    if (this.#files) return this.#files
    await this.#completeRows()
    this.#files = new Map()
    for (const service of this.#services) {
      const staging = service.root === undefined ? undefined : await openStaging(service.root)
      if (staging) this.#stagings.push(staging)
      const mode = this.#options.scratch ? 'scratch' : 'restore'
      const files = await openFiles(service, mode, staging?.path)
      if (files) this.#files.set(service.name, files)
    }
    return this.#files
  }

  async #completeRows(): Promise<void> {
    for (const filling of this.#fillings.values()) {
      await filling.commit()
      await filling.close()
    }
    this.#fillings.clear()
    failPoint('restore:committed')
    const keepSessions = this.#options.keepSessions === true
    for (const { database } of this.#services)
      await database?.afterRestore?.(database.url, { keepSessions })
  }

  async finish(): Promise<Omit<Restored, 'manifest'>> {
    await this.#openFiles()
    for (const files of this.#files?.values() ?? []) await files.close()
    this.#files?.clear()
    failPoint('restore:staged')
    for (const staging of this.#stagings) await staging.publish()
    await this.#closeFiles()
    failPoint('restore:whole')
    for (const { database, root } of this.#services) {
      if (database) await release(database)
      else if (root) await releaseFolder(root)
      failPoint('restore:released')
    }
    await this.#closeJournal()
    const moved = (isPrevious: boolean) =>
      this.#journal.aside.filter((one) => one.isPrevious === isPrevious).map(({ to }) => to)
    return { setAside: moved(true), leftovers: moved(false), leftOut: this.#leftOut }
  }

  /** An interrupted restore may have begun services that are not in this archive. */
  async #closeJournal(): Promise<void> {
    const whole = this.#services.map(({ name }) => name)
    const services = this.#journal.services.filter((name) => !whole.includes(name))
    if (services.length === 0) return removeJournal(this.#options.journal)
    await writeJournal(this.#options.journal, { ...this.#journal, services })
  }

  /** Undoes as much as possible. Returns what could not be undone, and why. */
  async undo(): Promise<string[]> {
    for (const filling of this.#fillings.values()) await filling.close().catch(() => {})
    await this.#closeFiles().catch(() => {})
    const left: string[] = []
    const attempt = (place: string, work: () => Promise<void>) =>
      work().catch(({ message }: Error) => void left.push(`${place} (${message})`))
    if (!this.#begun || this.#interrupted) return left
    for (const place of this.#empty) await attempt(place.name, place.clear)
    for (const { place, to } of this.#setAside)
      await attempt(`${place.name}, which is in ${to}`, () => place.putBack(this.#stamp))
    for (const { root, database } of this.#services)
      if (root && !database) await attempt(root, () => releaseFolder(root))
    if (left.length === 0) await attempt('the journal', () => removeJournal(this.#options.journal))
    return left
  }

  async #closeFiles(): Promise<void> {
    for (const files of this.#files?.values() ?? []) await files.close()
    this.#files?.clear()
    for (const staging of this.#stagings.splice(0)) await staging.close()
  }
}

/** Moves that were begun already keep their entry. */
function asideAfter(was: Journal | undefined, toMove: Move[]): Aside[] {
  const known = (was?.aside ?? []).map((one) => ({ ...one }))
  const isKnown = ({ place, stamp }: Move) =>
    known.some((one) => one.place === place.name && one.stamp === stamp)
  const added = toMove.filter((move) => !isKnown(move))
  return [...known, ...added.map((move) => ({ ...move, place: move.place.name }))]
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

function rowOf(line: string): Row {
  const row: unknown = JSON.parse(line)
  const isRow = Array.isArray(row) && row.every((value) => value === null || isPlain(value))
  if (!isRow) throw damaged('a row is not one')
  return row
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number'
}
