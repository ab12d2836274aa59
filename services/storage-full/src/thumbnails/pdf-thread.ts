import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { PDFiumLibrary } from '@hyzyla/pdfium'

const MAX_SIDE = 512
const MAX_HEAP_BYTES = 128 * 1024 * 1024

const library = await openPdfLibrary(MAX_HEAP_BYTES)
const bytes = await readFile(workerData.path)
parentPort?.postMessage(true) // Started: the document's time limit counts from here.

// Undefined means that the document cannot be drawn. A failure before this line says nothing about it.
parentPort?.postMessage(await renderFirstPage(bytes).catch(() => undefined))

async function renderFirstPage(bytes: Buffer) {
  const document = await library.loadDocument(bytes)
  const page = document.getPage(0)
  // Scaled by the size of the page, so that a huge one costs no more than a letter.
  const { originalWidth, originalHeight } = page.getOriginalSize()
  const scale = MAX_SIDE / Math.max(originalWidth, originalHeight)
  const { data, width, height } = await page.render({ scale, render: 'bitmap' })
  return { data, width, height }
}

/** The part that is used here; TypeScript declares it only for browsers. */
declare const WebAssembly: {
  compile(code: Uint8Array): Promise<object>
  Instance: new (module: object, imports: Imports) => Instance
}

type Instance = { exports: object }

type Imports = { env: { emscripten_resize_heap(bytes: number): boolean } }

/**
 * The renderer with a memory limit, because a document of a few kilobytes can unpack to gigabytes.
 * Beyond the limit the renderer runs out of memory and aborts, which ends its thread.
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
