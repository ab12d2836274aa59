/** What goes to disk at once. */
export const BLOCK_BYTES = 2 * 2 ** 20

/** The unit of memory, length and position that writing past the system's cache asks for. */
export const PAGE_BYTES = 4096

const BLOCK_COUNT = 4

const WASM_PAGE_BYTES = 64 * 1024

/** Node's types leave it out. */
declare const WebAssembly: {
  Memory: new (pages: {
    initial: number
    maximum: number
    shared: true
  }) => { readonly buffer: SharedArrayBuffer }
}

/** `offset` says where its bytes lie in the memory that is shared with the digest thread. */
export type Block = { readonly bytes: Buffer; readonly offset: number }

let shared: SharedArrayBuffer | undefined

const free: Block[] = []

const waiting: ((block: Block) => void)[] = []

/**
 * The blocks' memory. WebAssembly's begins at a page of the system and can be seen by a thread; no
 * other memory of JavaScript promises the first.
 */
export function blockMemory(): SharedArrayBuffer {
  shared ??= reserve()
  return shared
}

function reserve(): SharedArrayBuffer {
  const pages = (BLOCK_COUNT * BLOCK_BYTES) / WASM_PAGE_BYTES
  const { buffer } = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
  for (let offset = 0; offset < buffer.byteLength; offset += BLOCK_BYTES)
    free.push({ bytes: Buffer.from(buffer, offset, BLOCK_BYTES), offset })
  return buffer
}

/** A free block, in the order of asking. Fill and use it at once: all uploads share the few. */
export async function takeBlock(): Promise<Block> {
  blockMemory()
  return free.shift() ?? new Promise((resolve) => waiting.push(resolve))
}

export function giveBack(block: Block): void {
  const next = waiting.shift()
  if (next) next(block)
  else free.unshift(block) // The one used last is still in the processor's cache.
}

/** Bytes that come one by one are joined before their wrapping fills the memory. */
const MOST_LOOSE = 1024

/** Received pieces in their order, until they are moved to where they are needed. */
export class ReceivedBytes {
  #pieces: Buffer[] = []
  /** So much of the first piece was moved before. */
  #moved = 0
  #loose = 0

  /** Takes the piece over: its memory may be gone afterwards. */
  push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#loose += 1
    if (this.#loose === MOST_LOOSE) this.#joinLoose()
  }

  /** But for the first piece, which may be half moved. */
  #joinLoose(): void {
    const loose = this.#pieces.splice(Math.max(1, this.#pieces.length - MOST_LOOSE))
    this.#pieces.push(Buffer.concat(loose))
    for (const piece of loose) release(piece)
    this.#loose = 0
  }

  /** Fills the target with the next bytes; there must be as many. */
  moveInto(target: Buffer): void {
    let filled = 0
    while (filled < target.length) {
      const piece = this.#pieces[0] as Buffer
      const copied = piece.copy(target, filled, this.#moved)
      filled += copied
      this.#moved += copied
      if (this.#moved === piece.length) this.#dropFirst()
    }
  }

  #dropFirst(): void {
    const piece = this.#pieces.shift()
    this.#moved = 0
    this.#loose = Math.min(this.#loose, this.#pieces.length)
    if (piece) release(piece)
  }
}

/**
 * Gives the memory of received bytes back at once. V8 would let many megabytes of them pile up and
 * then go through the whole heap for them. A part of a larger buffer is left to it all the same.
 */
function release({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

export type DigestTask = { file: number; offset: number; length: number; last: boolean }
