import { type Clock, failPoint } from '@plinth/kit/runtime'
import { mark, release } from '../databases/fill.ts'
import { BackupError } from '../faults.ts'
import type { ServiceData } from '../sources/service-data.ts'
import { type Aside, type Journal, readJournal, removeJournal, writeJournal } from './journal.ts'
import { isUnfinished, markFolder, type Place, placesOf, releaseFolder } from './place.ts'

export type RoomOptions = {
  clock: Clock
  /** Moves existing data aside instead of refusing to restore. */
  replace?: boolean
  /** The file that lists what a restore has begun. Without it, a killed restore cannot be completed. */
  journal?: string
}

type Move = Omit<Aside, 'place'> & { place: Place }
type Plan = { toMove: Move[]; toClear: Place[]; refused: string[] }

/** The places that a restore fills: what is in the way is moved aside, and put back if the restore fails. */
export class Room {
  readonly #services: ServiceData[]
  readonly #options: RoomOptions
  readonly #stamp: string
  #empty: Place[] = []
  #setAside: { place: Place; to: string }[] = []
  #interrupted: Journal | undefined
  /** Undefined until it is written: nothing has changed before. */
  #journal: Journal | undefined

  constructor(services: ServiceData[], options: RoomOptions) {
    this.#services = services
    this.#options = options
    this.#stamp = options.clock().toISOString().replace(/[-:.]/g, '')
  }

  /**
   * The journal comes first: from then on no service starts in this data folder, and the restore can be run again
   * after a kill. A database is marked before its files are moved, so that no service sees one without the other.
   */
  async make(): Promise<void> {
    this.#interrupted = await readJournal(this.#options.journal)
    const { toMove, toClear } = await this.#plan(this.#interrupted)
    const names = this.#services.map(({ name }) => name)
    const begun = this.#interrupted?.services ?? []
    const journal: Journal = {
      since: this.#interrupted?.since ?? this.#options.clock().toISOString(),
      services: [...begun, ...names.filter((name) => !begun.includes(name))],
      aside: asideAfter(this.#interrupted, toMove),
    }
    await writeJournal(this.#options.journal, journal)
    this.#journal = journal
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
    for (const one of journal.aside) one.isDone = true
    await writeJournal(this.#options.journal, journal)
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

  /** Everything is complete: services may start. Returns where the data from before is. */
  async release(): Promise<{ setAside: string[]; leftovers: string[] }> {
    for (const { database, root } of this.#services) {
      if (database) await release(database)
      else if (root) await releaseFolder(root)
      failPoint('restore:released')
    }
    await this.#closeJournal()
    const moved = (isPrevious: boolean) =>
      (this.#journal?.aside ?? [])
        .filter((one) => one.isPrevious === isPrevious)
        .map(({ to }) => to)
    return { setAside: moved(true), leftovers: moved(false) }
  }

  /** An interrupted restore may have begun services that are not in this archive. */
  async #closeJournal(): Promise<void> {
    const whole = this.#services.map(({ name }) => name)
    const services = this.#journal?.services.filter((name) => !whole.includes(name)) ?? []
    if (!this.#journal || services.length === 0) return removeJournal(this.#options.journal)
    await writeJournal(this.#options.journal, { ...this.#journal, services })
  }

  /** Undoes as much as possible. Returns what could not be undone, and why. */
  async undo(): Promise<string[]> {
    const left: string[] = []
    const attempt = (place: string, work: () => Promise<void>) =>
      work().catch(({ message }: Error) => void left.push(`${place} (${message})`))
    if (!this.#journal || this.#interrupted) return left
    for (const place of this.#empty) await attempt(place.name, place.clear)
    for (const { place, to } of this.#setAside)
      await attempt(`${place.name}, which is in ${to}`, () => place.putBack(this.#stamp))
    for (const { root, database } of this.#services)
      if (root && !database) await attempt(root, () => releaseFolder(root))
    if (left.length === 0) await attempt('the journal', () => removeJournal(this.#options.journal))
    return left
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
