import { setTimeout as wait } from 'node:timers/promises'
import { type BenchRequest, drive } from '../harness/compare.ts'
import { percentiles, sampled } from '../harness/latency.ts'
import type { Row } from '../harness/row.ts'
import type { BenchServer } from '../harness/server-process.ts'
import { SECONDS } from '../harness/settings.ts'
import { openPayments, withPayments } from './payments.ts'

const MAX_MS = 100
const CONNECTIONS = 64
const JSON_TYPE = { 'content-type': 'application/json' }

const checkout = (body: string): BenchRequest => ({
  method: 'POST',
  path: '/api/checkout/sessions',
  headers: JSON_TYPE,
  body,
})

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

/** Cheap to send, and refused or the same for everyone. */
const CROWDS: Record<string, BenchRequest> = {
  'checkouts with bodies of 115 KB': checkout(
    JSON.stringify({ amount: 0, metadata: Object.fromEntries(members(9_600)) }),
  ),
  'checkouts with 16 KB of nested JSON': checkout(`[${Array(500).fill(nested(15)).join(',')}]`),
  'GET /openapi.json': { path: '/openapi.json' },
  'webhooks of 1 MiB without a signature': {
    method: 'POST',
    path: '/api/provider/webhook',
    headers: JSON_TYPE,
    body: Buffer.alloc(1024 * 1024, ' '),
  },
  'webhooks of 1 MiB with a wrong signature': {
    method: 'POST',
    path: '/api/provider/webhook',
    headers: {
      ...JSON_TYPE,
      'provider-signature': `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}`,
    },
    body: Buffer.alloc(1024 * 1024, ' '),
  },
}

function members(count: number): [string, string][] {
  return Array.from({ length: count }, (_, index) => [`k${index}`, 'v'])
}

/** What another client's request takes, idle and while 64 connections do nothing but send one of these. */
export function crowd(): Promise<Row[]> {
  return withPayments({}, async (server) => {
    const [opened] = await openPayments(server.url, 1)
    const url = `${server.url}/api/payments/${opened?.paymentId}`
    const read = () => sampled(() => fetch(url))
    await read()
    const rows: Row[] = [
      { what: 'GET /api/payments/{id}, idle', ours: '', ...percentiles(await read()) },
    ]
    for (const [name, request] of Object.entries(CROWDS))
      rows.push(await crowdRow(name, { server, request, read }))
    return rows
  })
}

type Crowd = { server: BenchServer; request: BenchRequest; read(): Promise<number[]> }

async function crowdRow(name: string, { server, request, read }: Crowd): Promise<Row> {
  const options = { connections: CONNECTIONS, seconds: SECONDS + 1, mayRefuse: true }
  const load = drive(server, request, options)
  await wait(500)
  const times = percentiles(await read())
  await load
  return {
    what: `GET /api/payments/{id}, ${CONNECTIONS} clients sending ${name}`,
    ours: '',
    ...times,
    bar: `p99 < ${MAX_MS} ms`,
    met: times.p99Ms < MAX_MS,
  }
}
