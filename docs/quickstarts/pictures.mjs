// Pictures in a page: an image in the size and format that each browser wants, through a temporary link.
//
//   STORAGE_USER=user STORAGE_PASSWORD=password123123 node pictures.mjs photo.jpg
import { openAsBlob } from 'node:fs'
import { createServer } from 'node:http'
import { basename, extname } from 'node:path'
import { storageClient } from '@plinth/client/storage'

const { STORAGE_URL = 'http://localhost:8082', PORT = '3000' } = process.env
const { STORAGE_USER = '', STORAGE_PASSWORD = '' } = process.env
const TYPES = {
  '.jpg': 'image/jpeg',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
}
const [path = 'photo.jpg'] = process.argv.slice(2)

const storage = storageClient(STORAGE_URL)
await storage.logIn(STORAGE_USER, STORAGE_PASSWORD)
const photo = await openAsBlob(path, { type: TYPES[extname(path)] })
const file = await storage.files.upload(photo, basename(path))

/** The browser chooses among these sizes; the service chooses AVIF, WebP or JPEG for the browser. */
async function page() {
  const link = await storage.links.create(file.id, 3600)
  const address = (width) => storage.links.pictureUrl(link, { width }).replaceAll('&', '&amp;')
  const sizes = [256, 640, 1200].map((width) => `${address(width)} ${width}w`)
  return `<!doctype html><title>Pictures</title>
<img alt="A photo" src="${address(640)}" srcset="${sizes.join(', ')}" sizes="100vw" loading="lazy">`
}

const server = createServer(async (_, response) => {
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.end(await page())
})
server.listen(Number(PORT), () => {
  console.log(`listening at http://localhost:${server.address().port}`)
})
