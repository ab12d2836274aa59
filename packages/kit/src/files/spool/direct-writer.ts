import { constants } from 'node:fs'
import { failPoint } from '../../runtime/fail-point.ts'
import { closeDescriptor, openDescriptor, writeBytes } from '../disk.ts'
import { PAGE_BYTES } from './blocks.ts'

const { O_WRONLY, O_NOFOLLOW, O_DIRECT = 0 } = constants

/** Smaller files stay in the system's cache: they are likely to be read soon. */
export const CACHED_BYTES = 16 * 2 ** 20

/** What file systems say that learn only from the first write that they cannot do it. */
const REFUSALS = new Set(['EINVAL', 'EOPNOTSUPP'])

/**
 * Writes a large file straight from our memory to the disk, past the system's cache: that costs
 * neither a copy nor a wait at the end, and leaves the cache to others. A file system that cannot
 * do it gets the bytes as usual.
 */
export class DirectWriter {
  readonly #path: string
  readonly #descriptor: number
  #usual: boolean
  #direct: number | undefined

  constructor(path: string, descriptor: number, direct: boolean) {
    this.#path = path
    this.#descriptor = descriptor
    this.#usual = !direct || O_DIRECT === 0
  }

  async write(bytes: Buffer, position: number): Promise<void> {
    const direct = wholePages(bytes, position) ? await this.#openDirectly(position) : undefined
    if (direct === undefined) return writeBytes(this.#descriptor, bytes, position)
    await writeBytes(direct, bytes, position).catch((error: NodeJS.ErrnoException) => {
      if (!REFUSALS.has(error.code ?? '')) throw error
      this.#usual = true
      return writeBytes(this.#descriptor, bytes, position)
    })
  }

  async #openDirectly(position: number): Promise<number | undefined> {
    if (this.#usual || position < CACHED_BYTES) return undefined
    failPoint('upload:direct-write')
    this.#direct ??= await openDescriptor(this.#path, O_WRONLY | O_NOFOLLOW | O_DIRECT).catch(
      () => undefined, // Whatever the reason, the bytes can be written as usual.
    )
    this.#usual = this.#direct === undefined
    return this.#direct
  }

  async close(): Promise<void> {
    if (this.#direct !== undefined) await closeDescriptor(this.#direct)
  }
}

function wholePages({ length }: Buffer, position: number): boolean {
  return length > 0 && length % PAGE_BYTES === 0 && position % PAGE_BYTES === 0
}
