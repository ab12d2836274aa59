/** The baseline of Node itself: returns the same bytes for the same path, and does nothing else. */
import { createServer } from 'node:http'

type Reply = { status: number; headers: [string, string][]; bodyBase64: string }

const replies = new Map(
  Object.entries<Reply>(JSON.parse(process.env.BARE_REPLIES ?? '{}')).map(([path, reply]) => [
    path,
    { ...reply, headers: reply.headers.flat(), body: Buffer.from(reply.bodyBase64, 'base64') },
  ]),
)

const server = createServer((request, response) => {
  const reply = replies.get(request.url ?? '')
  request.resume()
  request.on('end', () => {
    response.writeHead(reply?.status ?? 404, reply?.headers)
    response.end(reply?.body)
  })
}).listen(Number(process.env.BARE_PORT), 'localhost')

process.on('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
