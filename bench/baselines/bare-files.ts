/** The baseline of small downloads: opens, reads and closes one file for every request, and does nothing else. */
import { close, open, read } from 'node:fs'
import { createServer } from 'node:http'

const path = process.env.BARE_FILE ?? ''
const size = Number(process.env.BARE_BYTES)

const server = createServer((_request, response) => {
  open(path, 'r', (notOpened, descriptor) => {
    if (notOpened) return void response.destroy(notOpened)
    read(descriptor, Buffer.allocUnsafe(size), 0, size, 0, (notRead, length, bytes) => {
      close(descriptor, (notClosed) => {
        const error = notRead ?? notClosed
        if (error || length < size) return void response.destroy(error ?? undefined)
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': size })
        response.end(bytes)
      })
    })
  })
}).listen(Number(process.env.BARE_PORT), 'localhost')

process.on('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
