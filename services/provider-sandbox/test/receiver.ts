import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { TestContext } from 'node:test'

type Received = {
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape it expects
  event: any
  body: Buffer
  headers: Record<string, string | string[] | undefined>
}

/** A webhook endpoint that keeps what it receives; a test decides how and when it answers. */
export async function startReceiver(t: Pick<TestContext, 'after'>) {
  const received: Received[] = []
  const receiver = {
    url: '',
    received,
    answerWith: [] as number[],
    beforeAnswering: async () => {},
    answersWithoutEnd: false,
    types: () => typesOf(received),
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    received.push({ event: JSON.parse(body.toString()), body, headers: request.headers })
    await receiver.beforeAnswering()
    response.writeHead(receiver.answerWith.shift() ?? 200, { 'content-type': 'text/plain' })
    if (receiver.answersWithoutEnd) Readable.from(endless()).pipe(response)
    else response.end('thank you')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook`
  return receiver
}

function* endless() {
  while (true) yield 'thank you '
}

function typesOf(received: Received[]): string[] {
  return received.map(({ event }) => event.type)
}
