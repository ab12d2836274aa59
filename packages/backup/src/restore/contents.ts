import { failPoint } from '@plinth/kit/runtime'
import { linesOf, requireFlat } from '../archive/bounds.ts'
import { type Manifest, memberOf } from '../archive/manifest.ts'
import type { ReadMember, Show } from '../archive/read.ts'
import { type Filling, startFilling } from '../databases/fill.ts'
import type { Row } from '../databases/tables.ts'
import { BackupError, damaged } from '../faults.ts'
import { openFiles } from '../sources/folder.ts'
import type { ServiceData, StoredFiles } from '../sources/service-data.ts'
import { openStaging, type Staging } from './staging.ts'

export type ContentsOptions = {
  keepSessions?: boolean
  /** The scratch folder of a verification. Everything stays in the services' folders: no bucket is written to. */
  scratch?: string
  show?: Show
}

/** The rows and files of an archive, on their way to the services. */
export class Contents {
  readonly #services: ServiceData[]
  readonly #options: ContentsOptions
  #fillings = new Map<string, Filling>()
  #stagings: Staging[] = []
  #files: Map<string, StoredFiles> | undefined
  #done = 0

  constructor(services: ServiceData[], options: ContentsOptions) {
    this.#services = services
    this.#options = options
  }

  async begin(manifest: Manifest): Promise<void> {
    for (const { name, database } of this.#services) {
      const contents = manifest.services[name]?.database
      if (database && contents) this.#fillings.set(name, await startFilling(database, contents))
    }
    failPoint('restore:begun')
  }

  /** Ignores what belongs to a service that does not run here. */
  async take({ name, size, bytes }: ReadMember): Promise<void> {
    const member = memberOf(name)
    if (!member) throw new BackupError('damaged', `The archive has an unknown member "${name}".`)
    if (!this.#services.some((service) => service.name === member.service)) return
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

  async publish(): Promise<void> {
    await this.#openFiles()
    for (const files of this.#files?.values() ?? []) await files.close()
    this.#files?.clear()
    failPoint('restore:staged')
    for (const staging of this.#stagings) await staging.publish()
    await this.#closeFiles()
    failPoint('restore:whole')
  }

  /** After a failure, which is the one to report. */
  async abandon(): Promise<void> {
    for (const filling of this.#fillings.values()) await filling.close().catch(() => {})
    await this.#closeFiles().catch(() => {})
  }

  async #closeFiles(): Promise<void> {
    for (const files of this.#files?.values() ?? []) await files.close()
    this.#files?.clear()
    for (const staging of this.#stagings.splice(0)) await staging.close()
  }
}

function rowOf(line: string): Row {
  requireFlat(line)
  const row: unknown = JSON.parse(line)
  const isRow = Array.isArray(row) && row.every((value) => value === null || isPlain(value))
  if (!isRow) throw damaged('a row is not one')
  return row
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number'
}
