import { readFile } from 'node:fs/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { openPdfLibrary } from './pdf-library.ts'

const LARGEST_SIDE = 512
const LARGEST_HEAP_BYTES = 128 * 1024 * 1024

const library = await openPdfLibrary(LARGEST_HEAP_BYTES)
const bytes = await readFile(workerData.path)
// Nothing is the verdict on the document. What fails before this was never a try.
parentPort?.postMessage(await renderFirstPage(bytes).catch(() => undefined))

async function renderFirstPage(bytes: Buffer) {
  const document = await library.loadDocument(bytes)
  const page = document.getPage(0)
  // The scale follows from the page: one the size of a field costs no more than a letter.
  const { originalWidth, originalHeight } = page.getOriginalSize()
  const scale = LARGEST_SIDE / Math.max(originalWidth, originalHeight)
  const { data, width, height } = await page.render({ scale, render: 'bitmap' })
  return { data, width, height }
}
