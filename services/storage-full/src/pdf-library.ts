import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { PDFiumLibrary } from '@hyzyla/pdfium'

/** What is used of it here; the compiler knows it as a thing of browsers only. */
declare const WebAssembly: {
  compile(code: Uint8Array): Promise<object>
  Instance: new (module: object, imports: Imports) => Instance
}
type Instance = { exports: object }
type Imports = { env: { emscripten_resize_heap(bytes: number): boolean } }

/**
 * The renderer, with a limit to its memory: a few kilobytes of a document can unpack to gigabytes.
 * Beyond the limit it finds no memory, gives up, and takes its thread with it.
 */
export async function openPdfLibrary(largestHeapBytes: number) {
  const file = fileURLToPath(import.meta.resolve('@hyzyla/pdfium/pdfium.wasm'))
  const renderer = await WebAssembly.compile(await readFile(file))
  const instantiateWasm = (imports: Imports, received: (instance: Instance) => void) => {
    const { env } = imports
    const grow = env.emscripten_resize_heap
    env.emscripten_resize_heap = (bytes) => bytes >>> 0 <= largestHeapBytes && grow(bytes)
    const instance = new WebAssembly.Instance(renderer, imports)
    received(instance)
    return instance.exports
  }
  return PDFiumLibrary.init({ instantiateWasm: instantiateWasm as never })
}
