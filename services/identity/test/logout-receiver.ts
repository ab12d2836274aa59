import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { until } from '../../../test/until.ts'

/** The service of a client that is told about ended sessions. */
export async function startLogoutReceiver(t: TestContext) {
  const tokens: string[] = []
  const answers = { statusFor: (_token: string) => 204 }
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    const token = form.get('logout_token') ?? ''
    tokens.push(token)
    response.writeHead(answers.statusFor(token)).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const told = (count: number) =>
    until(
      async () => tokens,
      ({ length }) => length >= count,
    )
  return { url: `http://127.0.0.1:${port}/logout`, tokens, answers, told }
}
