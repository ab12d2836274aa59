import type {
  LimitChanges,
  Limits,
  Move,
  ObjectSettings,
  StorageConfig,
  StorageLocation,
  StorageStatus,
  StorageTest,
} from '../generated/storage-full.ts'
import type { CallOptions, Calls } from '../http/calls.ts'
import type { FileReplies } from './files.ts'

export type ProviderName = StorageStatus['activeProvider']

/** Where files are stored. For administrators. */
export class StorageSettings {
  readonly #calls: Calls<FileReplies>

  constructor(calls: Calls<FileReplies>) {
    this.#calls = calls
  }

  /**
   * @example
   * const { activeProvider, available } = await storage.settings.status()
   */
  status(options?: CallOptions): Promise<StorageStatus> {
    return this.#calls.json('GET /api/storage/status', {}, options)
  }

  /**
   * @example
   * const { pendingChanges } = await storage.settings.config()
   */
  config(options?: CallOptions): Promise<StorageConfig> {
    return this.#calls.json('GET /api/storage/config', {}, options)
  }

  /**
   * The places that have or had files. `files` counts those that are read from there, up to 10,000.
   * @example
   * const locations = await storage.settings.locations()
   */
  locations(options?: CallOptions): Promise<StorageLocation[]> {
    return this.#calls.json('GET /api/storage/locations', {}, options)
  }

  /**
   * @example
   * await storage.settings.configureLocal('/var/lib/plinth/files')
   */
  configureLocal(path: string, options?: CallOptions): Promise<StorageConfig> {
    return this.#calls.json('PUT /api/storage/config/local', { json: { path } }, options)
  }

  /**
   * @example
   * await storage.settings.configureObject({ endpoint: 'https://s3.example', region: 'eu', bucket: 'files' })
   */
  configureObject(settings: ObjectSettings, options?: CallOptions): Promise<StorageConfig> {
    return this.#calls.json('PUT /api/storage/config/object', { json: settings }, options)
  }

  /**
   * @example
   * const { success, steps } = await storage.settings.testLocal()
   */
  testLocal(options?: CallOptions): Promise<StorageTest> {
    return this.#calls.json('POST /api/storage/test/local', {}, options)
  }

  /**
   * @example
   * const { success, steps } = await storage.settings.testObject()
   */
  testObject(options?: CallOptions): Promise<StorageTest> {
    return this.#calls.json('POST /api/storage/test/object', {}, options)
  }

  /**
   * New files are stored there from now on.
   * @example
   * await storage.settings.activate('OBJECT')
   */
  activate(provider: ProviderName, options?: CallOptions): Promise<StorageStatus> {
    return this.#calls.json('PUT /api/storage/provider', { json: { provider } }, options)
  }

  /**
   * Quota, trash and versions: what applies, and what the settings of the service say.
   * @example
   * const { userBytes } = await storage.settings.limits()
   */
  limits(options?: CallOptions): Promise<Limits> {
    return this.#calls.json('GET /api/storage/limits', {}, options)
  }

  /**
   * They apply at once. `null` returns to what the settings say.
   * @example
   * await storage.settings.changeLimits({ userBytes: 10_000_000_000, versions: null })
   */
  changeLimits(changes: LimitChanges, options?: CallOptions): Promise<Limits> {
    return this.#calls.json('PATCH /api/storage/limits', { json: changes }, options)
  }
}

/** Copying files from one location to the other, in the background. For administrators. */
export class Moves {
  readonly #calls: Calls<FileReplies>

  constructor(calls: Calls<FileReplies>) {
    this.#calls = calls
  }

  /**
   * @example
   * const { id } = await storage.moves.start('OBJECT')
   */
  start(to: ProviderName, options?: CallOptions): Promise<Move> {
    return this.#calls.json('POST /api/storage/moves', { json: { to } }, options)
  }

  /**
   * @example
   * const moves = await storage.moves.list()
   */
  list(options?: CallOptions): Promise<Move[]> {
    return this.#calls.json('GET /api/storage/moves', {}, options)
  }

  /**
   * @example
   * const { state, moved, total } = await storage.moves.get(1)
   */
  get(id: number, options?: CallOptions): Promise<Move> {
    return this.#calls.json('GET /api/storage/moves/{id}', { path: { id } }, options)
  }

  /**
   * @example
   * await storage.moves.cancel(1)
   */
  cancel(id: number, options?: CallOptions): Promise<Move> {
    return this.#calls.json('DELETE /api/storage/moves/{id}', { path: { id } }, options)
  }
}
