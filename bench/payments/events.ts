/**
 * What events add to the requests that cause them, in elapsed time and in CPU time, against the same
 * service without events; and how fast events are delivered.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { drive } from '../harness/compare.ts'
import { atLeast, atMost, perSecond, type Row } from '../harness/row.ts'
import type { BenchServer } from '../harness/server-process.ts'
import { SECONDS } from '../harness/settings.ts'
import { type Spent, timeOfRequests } from '../harness/turns.ts'
import { type Service, songUpload, withService } from '../storage/full/service.ts'
import { deliverAll } from './deliver.ts'
import { interleaved, openPayments, withPayments } from './payments.ts'

const TURNS = 30
const MAX_RATIO = 1.1
/** See docs/performance.md: a bare program that writes the rows of an event would already miss 1.1. */
const MAX_OF_WEBHOOK = 1.25
const BYTES = 10 * 1024
/** The payments whose webhooks one side delivers in a turn. */
const PAYMENTS = Math.ceil(10 * SECONDS)
/** Work after the last reply counts too: events get their serial numbers then. */
const AFTERWARDS_MS = 1_100
/** Created, paid, and ten refunds. */
const EVENTS_OF_PAYMENT = 12
const DELIVERED = EVENTS_OF_PAYMENT * Math.ceil(40 * SECONDS)
const MIN_PER_SECOND = 500

const WITHOUT = {
  NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'without-events.ts'))}`,
}

export async function events(folder: string): Promise<Row[]> {
  return [...(await uploadRows(folder)), await webhookRow(), await deliveryRow()]
}

/** Only the elapsed time has a target: CPU time differs by 7 % even between two identical processes. */
async function uploadRows(folder: string): Promise<Row[]> {
  return withService(join(folder, 'on'), (on) =>
    withService(
      join(folder, 'off'),
      async (off) => {
        const times = await costRow('time of a durable 10 KB upload', {
          on: () => timeOfUploads(on),
          off: () => timeOfUploads(off),
          most: MAX_RATIO,
        })
        const processorTimes = await costRow('processor time of a durable 10 KB upload', {
          on: () => spentOnUploads(on),
          off: () => spentOnUploads(off),
        })
        return [times, processorTimes]
      },
      WITHOUT,
    ),
  )
}

/** One upload after another. */
async function timeOfUploads(service: Service): Promise<Spent> {
  const seconds = SECONDS / 5
  const upload = songUpload(service, BYTES)
  const { requestsPerSecond } = await drive(service, upload, { seconds, connections: 1 })
  return { ms: seconds * 1000, requests: requestsPerSecond * seconds }
}

async function spentOnUploads(service: Service): Promise<Spent> {
  const before = service.cpuMs()
  const seconds = SECONDS / 5
  const { requestsPerSecond } = await drive(service, songUpload(service, BYTES), { seconds })
  await wait(AFTERWARDS_MS)
  return { ms: service.cpuMs() - before, requests: requestsPerSecond * seconds }
}

async function webhookRow(): Promise<Row> {
  return withPayments({}, (on) =>
    withPayments(WITHOUT, async (off) =>
      costRow('processor time of a webhook with effects', {
        on: await webhooksOf(on),
        off: await webhooksOf(off),
        most: MAX_OF_WEBHOOK,
      }),
    ),
  )
}

/** Each turn delivers the webhooks of payments that had none before. */
async function webhooksOf(server: BenchServer): Promise<() => Promise<Spent>> {
  const opened = await openPayments(server.url, PAYMENTS * (TURNS + 1))
  return async () => {
    const deliveries = interleaved(opened.splice(0, PAYMENTS))
    const before = server.cpuMs()
    await deliverAll(server.url, deliveries)
    await wait(AFTERWARDS_MS)
    return { ms: server.cpuMs() - before, requests: deliveries.length }
  }
}

type Sides = { on: () => Promise<Spent>; off: () => Promise<Spent>; most?: number }

async function costRow(what: string, { on, off, most }: Sides): Promise<Row> {
  for (const side of [on, off]) await side()
  const { ours, baseline, ratio } = await timeOfRequests(TURNS, on, off)
  const text = (ms: number) => `${Math.round(ms * 1000)} µs`
  return {
    what: `${what} with its event, against without`,
    ours: text(ours),
    baseline: text(baseline),
    ratio,
    ...(most !== undefined && atMost(most, ratio)),
  }
}

/** Events queue up for a paused endpoint; the clock runs from its activation to the last delivery. */
async function deliveryRow(): Promise<Row> {
  return withPayments({}, async ({ url }) => {
    const receiver = await startReceiver()
    try {
      const endpoint = await send(url, 'POST', '/api/webhooks/endpoints', { url: receiver.url })
      const path = `/api/webhooks/endpoints/${endpoint.id}`
      await receiver.reached(1)
      await send(url, 'PATCH', path, { state: 'paused' })
      const opened = await openPayments(url, DELIVERED / EVENTS_OF_PAYMENT)
      await deliverAll(url, interleaved(opened))
      const before = receiver.count()
      await send(url, 'PATCH', path, { state: 'active' })
      const started = performance.now()
      await receiver.reached(before + DELIVERED)
      const rate = DELIVERED / ((performance.now() - started) / 1000)
      return {
        what: `${DELIVERED} events delivered to one receiver`,
        ours: perSecond(rate),
        ...atLeast(MIN_PER_SECOND, rate),
      }
    } finally {
      receiver.close()
    }
  })
}

async function send(url: string, method: string, path: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) })
  if (!reply.ok) throw new Error(`${path} was answered ${reply.status}: ${await reply.text()}`)
  return (await reply.json()) as { id: string }
}

async function startReceiver() {
  let received = 0
  let waiting = { count: Number.POSITIVE_INFINITY, resolve: () => {} }
  const server = createServer((request, reply) => {
    request.resume().on('end', () => {
      reply.writeHead(204).end()
      received += 1
      if (received >= waiting.count) waiting.resolve()
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    count: () => received,
    reached: async (count: number) => {
      if (received >= count) return
      await new Promise<void>((resolve) => {
        waiting = { count, resolve }
      })
    },
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
