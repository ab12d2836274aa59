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
