/**
 * The load generator, in its own process: it writes prepared requests to raw sockets, so that it costs
 * far less than the server under test. One request at a time on each connection.
 */
import { connect, type Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { createReplyReader } from './reply-reader.ts'

export type LoadOptions = {
  url: string
  connections: number
  seconds: number
  requests: {
    method?: string
    path: string
    headers?: Record<string, string>
    bodyBase64: string
  }[]
}

export type Load = {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  /** The number of replies of 400 and above; `sample` is the status of one of them. */
  refused: number
  sample?: number
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  console.log(JSON.stringify(await drive(JSON.parse(await text(process.stdin)))))

async function drive(options: LoadOptions): Promise<Load> {
  const requests = options.requests.map((request) => bytesOf(request, new URL(options.url)))
  const latencies = createHistogram()
  const started = performance.now()
  const until = started + options.seconds * 1000
  const total = { replies: 0, refused: 0, sample: undefined as number | undefined }

  let turn = 0
  const converse = async () => {
    const socket = connect(Number(new URL(options.url).port), 'localhost').setNoDelay(true)
    const { promise: over, resolve, reject } = Promise.withResolvers<void>()
    let sentAt = 0
    const send = () => {
      if (performance.now() >= until) return resolve()
      sentAt = performance.now()
      socket.write(requests[turn++ % requests.length] as Buffer)
    }
    const read = createReplyReader((status) => {
      latencies.record(Math.max(1, Math.round((performance.now() - sentAt) * 1000)))
      total.replies += 1
      if (status >= 400) Object.assign(total, { refused: total.refused + 1, sample: status })
      send()
    })
    socket.on('connect', send).on('data', read).on('error', reject)
    socket.on('close', () => reject(new Error('The server closed a connection.')))
    await over.finally(() => end(socket))
  }
  await Promise.all(Array.from({ length: options.connections }, converse))

  return {
    requestsPerSecond: total.replies / ((performance.now() - started) / 1000),
    p50Ms: latencies.percentile(50) / 1000,
    p99Ms: latencies.percentile(99) / 1000,
    refused: total.refused,
    sample: total.sample,
  }
}

function end(socket: Socket): void {
  socket.removeAllListeners('close')
  socket.destroy()
}

function bytesOf(request: LoadOptions['requests'][number], { host }: URL): Buffer {
  const body = Buffer.from(request.bodyBase64, 'base64')
  const headers = {
    host,
    ...request.headers,
    ...(body.length > 0 && { 'content-length': body.length }),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `${request.method ?? 'GET'} ${request.path} HTTP/1.1\r\n${lines.join('')}\r\n`
  return Buffer.concat([Buffer.from(head), body])
}
