import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { PDFiumLibrary } from '@hyzyla/pdfium'

const LARGEST_SIDE = 512
const LARGEST_HEAP_BYTES = 128 * 1024 * 1024

const library = await openPdfLibrary(LARGEST_HEAP_BYTES)
const bytes = await readFile(workerData.path)
parentPort?.postMessage(true) // Started: the time of the document counts from here.

// Nothing means that the document cannot be drawn. A failure before this line says nothing about it.
parentPort?.postMessage(await renderFirstPage(bytes).catch(() => undefined))

async function renderFirstPage(bytes: Buffer) {
  const document = await library.loadDocument(bytes)
  const page = document.getPage(0)
  // Scaled to the page: a huge one costs no more than a letter.
  const { originalWidth, originalHeight } = page.getOriginalSize()
  const scale = LARGEST_SIDE / Math.max(originalWidth, originalHeight)
  const { data, width, height } = await page.render({ scale, render: 'bitmap' })
  return { data, width, height }
}

/** The part that is used here; the compiler has its types for browsers only. */
declare const WebAssembly: {
  compile(code: Uint8Array): Promise<object>
  Instance: new (module: object, imports: Imports) => Instance
}

type Instance = { exports: object }

type Imports = { env: { emscripten_resize_heap(bytes: number): boolean } }

/**
 * The renderer, with a limit to its memory: a few kilobytes of a document can unpack to gigabytes.
 * Beyond the limit it runs out of memory and ends, and its thread with it.
 */
async function openPdfLibrary(largestHeapBytes: number) {
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
