import { connect } from 'node:net'
import { createReplyReader } from '../harness/reply-reader.ts'
import type { Delivery } from './signed-events.ts'

const CONNECTIONS = 32

/** Posts every delivery once, over a fixed number of connections; returns deliveries per second. */
export async function deliverAll(url: string, deliveries: readonly Delivery[]): Promise<number> {
  const { host, port } = new URL(url)
  const requests = deliveries.map((delivery) => bytesOf(delivery, host)).values()
  const started = performance.now()
  const connections = Array.from({ length: CONNECTIONS }, () => converse(Number(port), requests))
  await Promise.all(connections)
  return deliveries.length / ((performance.now() - started) / 1000)
}

/** Sends one request at a time until the shared iterator is exhausted. */
async function converse(port: number, requests: Iterator<Buffer>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect(port, 'localhost').setNoDelay(true)
  const send = () => {
    const next = requests.next()
    if (next.done) resolve()
    else socket.write(next.value)
  }
  const read = createReplyReader((status) => {
    if (status === 200) send()
    else reject(new Error(`A delivery was answered ${status}`))
  })
  socket.on('connect', send).on('data', read).on('error', reject)
  socket.on('close', () => reject(new Error('The server closed a connection.')))
  await promise.finally(() => socket.destroy())
}

function bytesOf({ body, signature }: Delivery, host: string): Buffer {
  const lines = [
    'POST /api/provider/webhook HTTP/1.1',
    `host: ${host}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    `provider-signature: ${signature}`,
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
