/**
 * The management port. It runs in its own thread, so that health probes are answered while the services are
 * busy; it forwards everything else unchanged to the main thread. It uses plain sockets: with a web server the
 * thread would take six times the memory.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { Health } from '@plinth/kit/http'
import type { Front, FrontMessage, FrontReply } from './management.ts'

const { addresses, port } = workerData as Front
const services = parentPort as MessagePort
const post = (message: FrontMessage) => services.postMessage(message)

const ANSWER_MS = 300
const READINESS_MS = 10_000
/** Longer than any load lasts, because a process that fails its liveness probe is killed. */
const LIVENESS_MS = 60_000

const UP: Health = { status: 'UP' }
const TOO_SLOW: Health = { status: 'DOWN', reason: 'The services did not answer in time.' }

let last = UP
let asked: { since: number; answer: PromiseWithResolvers<Health> } | undefined

let server: PromiseWithResolvers<number> | undefined

services.on('message', (reply: FrontReply) => {
  if ('port' in reply) return server?.resolve(reply.port)
  last = reply
  asked?.answer.resolve(reply)
  asked = undefined
})

/** The services' answer; their last one if they are slow; down if they have not answered for `longestMs`. */
async function healthOfServices(longestMs: number): Promise<Health> {
  if (!asked) post('asks for health')
  asked ??= { since: performance.now(), answer: Promise.withResolvers() }
  const { since, answer } = asked
  const { promise: late, resolve } = Promise.withResolvers<Health>()
  const timer = setTimeout(
    () => resolve(performance.now() - since < longestMs ? last : TOO_SLOW),
    ANSWER_MS,
  )
  const health = await Promise.race([answer.promise, late])
  clearTimeout(timer)
  return health
}

const PROBE = /^GET \/actuator\/health(\/liveness|\/readiness)?(\?\S*)? HTTP\/1\.[01]\r\n/
const PROBE_START = 'GET /actuator/health'
const MAX_HEAD_BYTES = 16_384
const HEAD_MS = 10_000

/** Inspects the first request of a connection. Anything but a probe is left to the main thread to parse. */
function accept(socket: Socket): void {
  let head = Buffer.alloc(0)
  socket.on('error', () => socket.destroy())
  socket.setTimeout(HEAD_MS, () => socket.destroy())
  socket.on('data', function inspect(chunk: Buffer) {
    head = Buffer.concat([head, chunk])
    const text = head.toString('latin1')
    const mayBeProbe = PROBE_START.startsWith(text.slice(0, PROBE_START.length))
    if (mayBeProbe && !text.includes('\r\n\r\n') && head.length < MAX_HEAD_BYTES) return
    socket.off('data', inspect)
    const probe = PROBE.exec(text)
    if (probe) void answer(socket, probe[1], requestIdOf(text))
    else void forward(socket.pause(), head)
  })
}

const REQUEST_ID = /^x-request-id: *([A-Za-z0-9._-]{1,128})\r$/im
const STARTED = randomBytes(4).toString('hex')
let count = 0

/** The client's request id if it is well-formed, otherwise a new one. */
function requestIdOf(head: string): string {
  count += 1
  return REQUEST_ID.exec(head)?.[1] ?? `probe-${STARTED}-${count}`
}

async function answer(socket: Socket, kind: string | undefined, id: string): Promise<void> {
  const isLiveness = kind === '/liveness'
  const health = await healthOfServices(isLiveness ? LIVENESS_MS : READINESS_MS)
  const isUp = health.status !== 'DOWN' || (isLiveness && health !== TOO_SLOW)
  // Only the whole health shows that a service is degraded.
  const body = JSON.stringify(isUp && kind !== undefined ? UP : health)
  const lines = [
    `HTTP/1.1 ${isUp ? '200 OK' : '503 Service Unavailable'}`,
    ...(isUp ? [] : ['retry-after: 5']),
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    'x-content-type-options: nosniff',
    'cache-control: no-store',
    'connection: close',
  ]
  socket.resume().end(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

async function forward(socket: Socket, head: Buffer): Promise<void> {
  if (!server) post('needs the server')
  server ??= Promise.withResolvers()
  const inner = connect({ port: await server.promise, host: '127.0.0.1', allowHalfOpen: true })
  socket.setTimeout(0)
  socket.once('close', () => inner.destroy())
  inner.once('error', () => socket.destroy()).once('close', () => socket.destroy())
  inner.write(head)
  socket.pipe(inner).pipe(socket)
}

/** A host name may resolve to an address family that is disabled, as IPv6 often is. */
const IGNORED_CODES = ['EADDRNOTAVAIL', 'EAFNOSUPPORT']

try {
  for (const [index, host] of addresses.entries()) {
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, accept)
    await once(listener.listen(port, host), 'listening').catch((error) => {
      if (index === 0 || !IGNORED_CODES.includes(error.code)) throw error
    })
  }
  post('listening')
} catch (error) {
  post({ code: (error as NodeJS.ErrnoException).code ?? '' })
}
