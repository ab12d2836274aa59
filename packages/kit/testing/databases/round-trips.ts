import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

type Scope = { after(work: () => Promise<void> | void): void }

type CountedDatabase = {
  url: string
  /** How often `work` waited for an answer of the database before it could send more. */
  roundTripsOf(work: () => Promise<unknown>): Promise<number>
  /** The lowest of ten counts: background jobs use the database too, but not every time. */
  fewestRoundTripsOf(work: () => Promise<unknown>): Promise<number>
}

/**
 * A PostgreSQL database behind a proxy that counts round trips. Everything sent before the first
 * answer is one round trip, on however many connections; anything sent after that answer is the next.
 */
export async function countRoundTrips(t: Scope, databaseUrl: string): Promise<CountedDatabase> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let asked = 0
  let answered = 0
  let count = 0
  const proxy = createServer((client) => {
    const server = connect(Number(target.port), target.hostname)
    let own = 0
    let countOfOwn = 0
    client.on('data', (bytes) => {
      own = answered + 1
      countOfOwn = count
      asked = Math.max(asked, own)
      server.write(bytes)
    })
    server.on('data', (bytes) => {
      if (countOfOwn === count) answered = Math.max(answered, own)
      client.write(bytes)
    })
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket.setNoDelay(true))
      socket.on('error', () => {}).on('close', () => other.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const { port } = proxy.address() as AddressInfo
  const roundTripsOf = async (work: () => Promise<unknown>) => {
    count++
    asked = 0
    answered = 0
    await work()
    return asked
  }
  const fewestRoundTripsOf = async (work: () => Promise<unknown>) => {
    let fewest = Number.POSITIVE_INFINITY
    for (let time = 0; time < 10; time++) fewest = Math.min(fewest, await roundTripsOf(work))
    return fewest
  }
  const url = Object.assign(new URL(databaseUrl), { port: String(port) }).href
  return { url, roundTripsOf, fewestRoundTripsOf }
}
