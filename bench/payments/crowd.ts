import type { BenchRequest } from '../harness/compare.ts'
import { type Crowds, crowdRows } from '../harness/crowd.ts'
import type { Row } from '../harness/row.ts'
import { openPayments, withPayments } from './payments.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

const checkout = (body: string): BenchRequest => ({
  method: 'POST',
  path: '/api/checkout/sessions',
  headers: JSON_TYPE,
  body,
})

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

/** Cheap to send, and refused or the same for everyone. */
const CROWDS: Crowds = {
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

export function crowd(): Promise<Row[]> {
  return withPayments({}, async (server) => {
    const [opened] = await openPayments(server.url, 1)
    const read = () => fetch(`${server.url}/api/payments/${opened?.paymentId}`)
    return crowdRows({ server, what: 'GET /api/payments/{id}', read, crowds: CROWDS })
  })
}
