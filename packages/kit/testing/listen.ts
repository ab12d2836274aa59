import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import type { Server } from '../src/http/framework.ts'
import { apiFor } from './api.ts'
import { checkReplies } from './replies.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

/**
 * Real HTTP on a free port of the loopback address, closed when the test ends. The test fails if a
 * reply did not match the service's API document.
 */
export async function listenForTest(t: TestScope, server: Server) {
  const faultsOfReplies = checkReplies(server)
  await server.listen({ host: '127.0.0.1', port: 0 })
  t.after(async () => {
    server.server.closeAllConnections()
    await server.close()
    assert.deepEqual(faultsOfReplies(), [], 'replies differ from the API document')
  })
  const { port } = server.server.address() as AddressInfo
  const baseUrl = `http://127.0.0.1:${port}`
  return { baseUrl, port, api: apiFor(baseUrl) }
}
