import { Agent, request } from 'node:http'
import type { Delivery } from './signed-events.ts'

const CONNECTIONS = 32

/** Posts every delivery once, over a fixed number of connections; gives deliveries per second. */
export async function deliverAll(url: string, deliveries: readonly Delivery[]): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  let next = 0
  const worker = async () => {
    for (let mine = next++; mine < deliveries.length; mine = next++)
      await deliver(url, agent, deliveries[mine] as Delivery)
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  const seconds = (performance.now() - started) / 1000
  agent.destroy()
  return deliveries.length / seconds
}

function deliver(url: string, agent: Agent, { body, signature }: Delivery): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'provider-signature': signature,
  }
  const call = request(
    `${url}/api/provider/webhook`,
    { method: 'POST', agent, headers },
    (reply) => {
      if (reply.statusCode !== 200) reject(new Error(`A delivery was answered ${reply.statusCode}`))
      reply.resume().on('end', resolve)
    },
  )
  call.on('error', reject)
  call.end(body)
  return promise
}
