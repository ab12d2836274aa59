import type { Replies, StoredFile } from '../generated/storage-full.ts'
import type { CallOptions, Calls } from '../http/calls.ts'
import { ConnectionError, ProblemError, TimeoutError } from '../http/errors.ts'

/** The version of the protocol, in every request about an upload. */
export const TUS: Record<string, string> = { 'tus-resumable': '1.0.0' }
const CHUNK_TYPE = 'application/offset+octet-stream'
const CHUNK_BYTES = 8 * 1024 * 1024
const RETRIES = 8
const RETRY_DELAY_MS = 500
const MAX_DELAY_MS = 30_000
/** The token must last this long when a piece starts; the next piece gets a fresh one. */
const CHUNK_LASTS_MS = 120_000
const BUSY = [408, 409, 423, 429, 460]

/** Remembers which upload belongs to a file, so that it can go on after the page was loaded again. */
export type UploadMemory = {
  get(file: string): string | undefined
  set(file: string, uploadId: string): void
  forget(file: string): void
}

export type ResumableOptions = CallOptions & {
  /** The folder to put the file into; missing ones are created. Default `/`. */
  folder?: string | undefined
  /** Called with the bytes that have arrived or are on their way. */
  onProgress?: ((progress: { loaded: number; total: number }) => void) | undefined
  /** How much is sent in one request. Default 8 MiB. */
  chunkBytes?: number | undefined
  /** The id of the file whose content it becomes. */
  replaces?: number | undefined
  /** Default: the page's `localStorage`, if there is one. */
  memory?: UploadMemory | undefined
  /** How often a request is tried again before any byte gets through. Default 8. */
  retries?: number | undefined
  /** The delay before the first retry; it doubles each time, up to 30 s. Default 500. */
  retryDelayMs?: number | undefined
}

type Operation =
  | 'POST /file/uploads'
  | 'HEAD /file/uploads/{uploadId}'
  | 'PATCH /file/uploads/{uploadId}'
  | 'DELETE /file/uploads/{uploadId}'
  | 'GET /file/info/{id}'

type UploadCalls = Calls<Pick<Replies, Operation>>

type ChosenFile = { file: Blob; filename: string }

/** An upload that goes on where it stopped, after a lost connection or a closed page. */
export class ResumableUpload {
  /** The file, once it is stored. */
  readonly done: Promise<StoredFile>
  readonly #calls: UploadCalls
  readonly #chosen: ChosenFile
  readonly #options: ResumableOptions
  readonly #memory: UploadMemory | undefined
  readonly #fingerprint: string
  readonly #ended = new AbortController()
  #running = new AbortController()
  /** Resolves when the upload may go on. */
  #resumed: Promise<void> = Promise.resolve()
  #goOn: () => void = () => {}
  #uploadId: string | undefined

  constructor(calls: UploadCalls, chosen: ChosenFile, options: ResumableOptions = {}) {
    this.#calls = calls
    this.#chosen = chosen
    this.#options = options
    this.#memory = options.memory ?? webMemory()
    this.#fingerprint = fingerprintOf(chosen, options)
    this.#uploadId = this.#memory?.get(this.#fingerprint)
    this.done = this.#sendAll()
    // A caller that only pauses and cancels need not look at it.
    this.done.catch(() => {})
  }

  /**
   * Stops sending; the service keeps for a day what has arrived.
   * @example
   * const upload = storage.files.uploadResumable(file, 'film.mp4')
   * addEventListener('offline', () => upload.pause())
   */
  pause(): void {
    if (this.#running.signal.aborted) return
    this.#resumed = new Promise((resolve) => {
      this.#goOn = resolve
    })
    this.#running.abort(new DOMException('The upload is paused', 'AbortError'))
  }

  /**
   * Goes on after `pause`, from where the service is.
   * @example
   * const upload = storage.files.uploadResumable(file, 'film.mp4')
   * addEventListener('offline', () => upload.pause())
   * addEventListener('online', () => upload.resume())
   */
  resume(): void {
    if (!this.#running.signal.aborted) return
    this.#running = new AbortController()
    this.#goOn()
  }

  /**
   * Ends the upload here and at the service; `done` is rejected.
   * @example
   * const upload = storage.files.uploadResumable(file, 'film.mp4')
   * await upload.cancel()
   */
  async cancel(): Promise<void> {
    this.#ended.abort(new DOMException('The upload was cancelled', 'AbortError'))
    this.#goOn()
    // It ends with the cancellation, or with a failure that no longer matters.
    await this.done.catch(() => {})
    this.#memory?.forget(this.#fingerprint)
    const uploadId = this.#uploadId
    if (uploadId === undefined) return
    const call = { path: { uploadId }, headers: TUS, accept: [404, 410] }
    const { timeoutMs, headers } = this.#options
    await this.#calls.response('DELETE /file/uploads/{uploadId}', call, { timeoutMs, headers })
  }

  #callOptions(): CallOptions & { signal: AbortSignal } {
    const { signal, timeoutMs, headers } = this.#options
    const signals = [this.#running.signal, this.#ended.signal, ...(signal ? [signal] : [])]
    return { timeoutMs, headers, signal: AbortSignal.any(signals) }
  }

  #throwIfEnded(): void {
    this.#ended.signal.throwIfAborted()
    this.#options.signal?.throwIfAborted()
  }

  #report(loaded: number): void {
    this.#options.onProgress?.({ loaded, total: this.#chosen.file.size })
  }

  async #sendAll(): Promise<StoredFile> {
    let failures = 0
    let state: Response | undefined
    for (;;) {
      await this.#resumed
      this.#throwIfEnded()
      try {
        state ??= await this.#ask()
        const fileId = Number(state.headers.get('x-file-id') ?? 0)
        const offset = Number(state.headers.get('upload-offset'))
        this.#report(offset)
        if (fileId > 0) return await this.#fileOf(fileId)
        state = await this.#send(offset)
        failures = 0
      } catch (error) {
        state = undefined
        this.#throwIfEnded()
        if (this.#running.signal.aborted) continue
        failures += 1
        await this.#waitAfter(error, failures)
      }
    }
  }

  async #fileOf(id: number): Promise<StoredFile> {
    const stored = await this.#calls.json(
      'GET /file/info/{id}',
      { path: { id } },
      this.#callOptions(),
    )
    this.#memory?.forget(this.#fingerprint)
    return stored
  }

  /** Throws when the same would fail again. */
  async #waitAfter(error: unknown, failures: number): Promise<void> {
    const { retries = RETRIES, retryDelayMs = RETRY_DELAY_MS } = this.#options
    if (failures > retries || !isPassing(error)) {
      if (!isPassing(error)) this.#memory?.forget(this.#fingerprint)
      throw error
    }
    const delayMs = Math.min(retryDelayMs * 2 ** (failures - 1), MAX_DELAY_MS)
    await delay(delayMs, this.#callOptions().signal)
  }

  /** Where the service is. An upload that it does not know any more begins again. */
  async #ask(): Promise<Response> {
    const { file } = this.#chosen
    if (this.#uploadId !== undefined) {
      const call = { path: { uploadId: this.#uploadId }, headers: TUS, accept: [404, 410] }
      const options = this.#callOptions()
      const state = await this.#calls.response('HEAD /file/uploads/{uploadId}', call, options)
      if (state.ok && Number(state.headers.get('upload-length')) === file.size) return state
      this.#memory?.forget(this.#fingerprint)
    }
    return this.#create()
  }

  async #create(): Promise<Response> {
    const { file, filename } = this.#chosen
    const { folder, replaces } = this.#options
    const place = folder === undefined ? '' : `,folder ${base64(folder)}`
    const replaced = replaces === undefined ? '' : `,replaces ${base64(String(replaces))}`
    const chosen = `filename ${base64(filename)},filetype ${base64(file.type)}`
    const headers = {
      ...TUS,
      'upload-length': String(file.size),
      'upload-metadata': `${chosen}${place}${replaced}`,
    }
    const created = await this.#calls.response(
      'POST /file/uploads',
      { headers },
      this.#callOptions(),
    )
    const id = created.headers.get('location')?.split('/').at(-1) ?? ''
    this.#uploadId = id
    this.#memory?.set(this.#fingerprint, id)
    return created
  }

  #send(offset: number): Promise<Response> {
    const { file } = this.#chosen
    const { chunkBytes = CHUNK_BYTES } = this.#options
    const call = {
      path: { uploadId: this.#uploadId ?? '' },
      headers: { ...TUS, 'upload-offset': String(offset), 'content-type': CHUNK_TYPE },
      body: file.slice(offset, offset + chunkBytes),
      lastsMs: CHUNK_LASTS_MS,
      onSent: (bytes: number) => this.#report(Math.min(offset + bytes, file.size)),
    }
    return this.#calls.response('PATCH /file/uploads/{uploadId}', call, this.#callOptions())
  }
}

/** Whether the same may work a moment later. */
function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true
  return error instanceof ProblemError && (error.status >= 500 || BUSY.includes(error.status))
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
  })
}

type Place = Pick<ResumableOptions, 'folder' | 'replaces'>

/** The same file chosen again for the same place has the same one. */
function fingerprintOf({ file, filename }: ChosenFile, { folder, replaces }: Place): string {
  const { lastModified = 0 } = file as { lastModified?: number }
  const known = [filename, file.type, file.size, lastModified]
  const place = [folder, replaces].filter((value) => value !== undefined)
  return [...known, ...place].join('|')
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}

type WebStorage = {
  getItem(name: string): string | null
  setItem(name: string, value: string): void
  removeItem(name: string): void
}

const NAME = 'plinth.upload.'

function webMemory(): UploadMemory | undefined {
  // Only pages: reading `localStorage` in Node prints a warning.
  if (!('document' in globalThis)) return undefined
  const { localStorage } = globalThis as { localStorage?: WebStorage }
  if (localStorage === undefined) return undefined
  return {
    get: (file) => localStorage.getItem(NAME + file) ?? undefined,
    set: (file, uploadId) => localStorage.setItem(NAME + file, uploadId),
    forget: (file) => localStorage.removeItem(NAME + file),
  }
}
