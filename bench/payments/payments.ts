import { bareInsertsPerSecond } from '../baselines/bare-inserts.ts'
import { compare, measure } from '../harness/compare.ts'
import { atLeast, atMost, number, perSecond, type Row } from '../harness/row.ts'
import { type BenchServer, startServer } from '../harness/server-process.ts'
import { SECONDS } from '../harness/settings.ts'
import { deliverAll } from './deliver.ts'
import { type Delivery, eventsOf, type Opened, signed, WEBHOOK_SECRET } from './signed-events.ts'

const PAYMENTS = Math.ceil(200 * SECONDS)
/** The payments for warming up: the code is optimised after about twenty thousand webhooks. */
const WARMING = 1000
const MANY = Math.min(100_000, 50_000 * SECONDS)

export function payments(): Promise<Row[]> {
  return withPayments({}, rowsOf)
}

/** Runs the service with its own provider. */
export async function withPayments<T>(
  env: Record<string, string>,
  work: (server: BenchServer) => Promise<T>,
): Promise<T> {
  const sandbox = await startServer('services/provider-sandbox/src/main.ts', 'SANDBOX_PORT')
  const service = await startServer('services/payments/src/main.ts', 'PAYMENTS_PORT', {
    PROVIDER_SECRET_KEY: 'sk_test_bench',
    PROVIDER_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PROVIDER_API_BASE: sandbox.url,
    PAYMENTS_LOOK_EVERY_SECONDS: '3600',
    ...env,
  })
  try {
    return await work(service)
  } finally {
    await service.stop()
    await sandbox.stop()
  }
}

async function rowsOf(server: BenchServer): Promise<Row[]> {
  await warmUp(server.url)
  const opened = await openPayments(server.url, PAYMENTS)
  const reading = { path: `/api/payments/${opened[0]?.paymentId}` }
  const again = signed('checkout.session.completed', { id: 'cs_unknown' })
  const duplicate = {
    method: 'POST',
    path: '/api/provider/webhook',
    body: again.body,
    headers: { 'content-type': 'application/json', 'provider-signature': again.signature },
  }
  return [
    await distinctRow(server, opened),
    await measure('one webhook again and again', server, duplicate),
    await compare('GET /api/payments/{id}, against node:http', server, reading, { bar: 0.6 }),
    await memoryRow(server),
  ]
}

export async function warmUp(url: string): Promise<void> {
  await deliverAll(url, interleaved(await openPayments(url, WARMING, 'warming')))
}

export async function openPayments(
  url: string,
  count: number,
  references = 'order',
): Promise<Opened[]> {
  const opened: Opened[] = []
  while (opened.length < count)
    opened.push(await openPayment(url, `${references} ${opened.length}`))
  return opened
}

async function openPayment(url: string, businessReference: string): Promise<Opened> {
  const reply = await fetch(`${url}/api/checkout/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      amount: 1000,
      currency: 'eur',
      description: 'A chair',
      businessReference,
      attemptReference: 'first',
    }),
  })
  if (reply.status !== 201) throw new Error(`A checkout was answered ${reply.status}`)
  return (await reply.json()) as Opened
}

/** Each delivery is claimed, applied to its payment and durable before it is acknowledged. */
async function distinctRow(server: BenchServer, opened: Opened[]): Promise<Row> {
  const deliveries = interleaved(opened)
  const bare = await bareInsertsPerSecond(deliveries[0]?.body ?? '', SECONDS / 2)
  const rate = await deliverAll(server.url, deliveries)
  const bareAfter = await bareInsertsPerSecond(deliveries[0]?.body ?? '', SECONDS / 2)
  await requireEffects(server.url, opened)
  const barePerSecond = (bare + bareAfter) / 2
  const ratio = rate / barePerSecond
  return {
    what: 'distinct webhooks with effects, against bare durable inserts',
    ours: perSecond(rate),
    baseline: perSecond(barePerSecond),
    ratio,
    ...atLeast(0.25, ratio),
    peakMb: server.peakMemoryMb(),
  }
}

/** The first event of every payment, then the second of every payment, and so on. */
export function interleaved(opened: Opened[]): Delivery[] {
  const lives = opened.map(eventsOf)
  return (lives[0] ?? []).flatMap((_, step) => lives.flatMap((life) => life[step] ?? []))
}

/** Every acknowledged event must have been applied: each payment has ten refunds of 10. */
async function requireEffects(url: string, opened: Opened[]): Promise<void> {
  for (const { paymentId } of opened) {
    const reply = await fetch(`${url}/api/payments/${paymentId}`)
    const { refundedAmount } = (await reply.json()) as { refundedAmount: number }
    if (refundedAmount !== 100) throw new Error(`The events of ${paymentId} were not all applied.`)
  }
}

async function memoryRow(server: BenchServer): Promise<Row> {
  const fifth = MANY / 5
  const deliver = (count: number) => deliverAll(server.url, unknownSessions(count))
  await deliver(fifth)
  const before = server.memoryMb() ?? 0
  for (let round = 0; round < 4; round++) await deliver(fifth)
  const after = server.memoryMb() ?? 0
  return {
    what: `memory after ${number(MANY)} webhooks, against after ${number(fifth)}`,
    ours: `${Math.round(after)} MB`,
    baseline: `${Math.round(before)} MB`,
    ratio: after / before,
    ...atMost(1.2, after / before),
  }
}

function unknownSessions(count: number) {
  return Array.from({ length: count }, (_, index) =>
    signed('checkout.session.completed', { id: `cs_unknown_${index}` }),
  )
}
