import { readFile } from 'node:fs/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { openPdfLibrary } from './pdf-library.ts'

const LARGEST_SIDE = 512
const LARGEST_HEAP_BYTES = 128 * 1024 * 1024

const library = await openPdfLibrary(LARGEST_HEAP_BYTES)
const document = await library.loadDocument(await readFile(workerData.path))
const page = document.getPage(0)

// The scale follows from the page, so that a page the size of a field costs no more than a letter.
const { originalWidth, originalHeight } = page.getOriginalSize()
const scale = LARGEST_SIDE / Math.max(originalWidth, originalHeight)
const { data, width, height } = await page.render({ scale, render: 'bitmap' })
parentPort?.postMessage({ data, width, height })
