import type { IncomingMessage, ServerResponse } from 'node:http'
import { discardAfterAnswer, discardBeforeClosing } from '../http/linger.ts'
import type { Server } from '../http/server.ts'

/**
 * Prepares a server for `receiveUpload`: bodies of these types are left to the handler unread,
 * a client that asks first (`Expect: 100-continue`) is told to send only once its request is
 * acceptable, and one refused half-way gets to read the answer.
 */
export function acceptUploads(server: Server, types: string | string[] | RegExp): void {
  server.addContentTypeParser(types, (_request, _payload, done) => done(null))
  server.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Other bodies are small, and their routes know nothing of this.
    if (!/^multipart\//i.test(request.headers['content-type'] ?? '')) response.writeContinue()
    server.server.emit('request', request, response)
  })
  server.addHook('onSend', (request, reply) => discardBeforeClosing(request.raw, reply.raw))
  server.addHook('onResponse', (request, _reply, done) => {
    discardAfterAnswer(request.raw)
    done()
  })
}
