import { readFile } from 'node:fs/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { PDFiumLibrary } from '@hyzyla/pdfium'

const LARGEST_SIDE = 512

const library = await PDFiumLibrary.init()
const document = await library.loadDocument(await readFile(workerData.path))
const page = document.getPage(0)

// The scale follows from the page, so that a page the size of a field costs no more than a letter.
const { originalWidth, originalHeight } = page.getOriginalSize()
const scale = LARGEST_SIDE / Math.max(originalWidth, originalHeight)
const { data, width, height } = await page.render({ scale, render: 'bitmap' })
parentPort?.postMessage({ data, width, height })
