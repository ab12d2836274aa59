import { armFailPoint } from '@plinth/kit/runtime'
import type { ApiReply } from '@plinth/kit/testing'
import { checkReply } from './invariants.ts'
import { booksOf, type Event, refundsOf, type Story, sessionsOf } from './world.ts'

type Step = {
  step: string
  attempt?: number
  reference?: string
  amount?: number | null
  which?: number
  way?: string
  point?: string
  kind?: string
}

async function waiting({ world, old, delivered, dropped }: Story): Promise<Event[]> {
  const events: Event[] = await world.sandbox.events()
  const done = new Set(delivered.map(({ id }) => id))
  return events.filter(({ id }) => !old.has(id) && !done.has(id) && !dropped.has(id))
}

/** Makes one call, in which an armed fail point strikes, and checks the answer. */
async function call(story: Story, act: () => Promise<ApiReply>): Promise<ApiReply> {
  const reply = await act()
  checkReply(reply, story.breaking)
  disarm(story)
  story.paymentId = (await findPayment(story)) ?? story.paymentId
  return reply
}

/** Makes one call during which the service dies and is started again. */
async function die(story: Story, route: string, act: () => Promise<ApiReply>): Promise<void> {
  const reply = await story.world.dieIn(route, act)
  disarm(story)
  if (reply) checkReply(reply, true)
  story.paymentId = (await findPayment(story)) ?? story.paymentId
}

function disarm(story: Story): void {
  armFailPoint({})
  story.breaking = false
}

async function findPayment({ world, businessReference }: Story): Promise<string | undefined> {
  const query = new URLSearchParams({ businessReference })
  return (await world.read(`/api/payments?${query}`)).content[0]?.id
}

/** What the customer or the bank does, if the provider allows it. */
const atSession = (action: string) => async (story: Story) => {
  const [session] = await sessionsOf(story)
  const body = action === 'bank-debit' ? { delaySeconds: 10 ** 8 } : {}
  if (session)
    await story.world.sandbox.api.post(`/sandbox/api/sessions/${session.id}/${action}`, body)
}

const atRefund = (action: string) => async (story: Story) => {
  const [refund] = await refundsOf(story)
  if (refund) await story.world.sandbox.api.post(`/sandbox/api/refunds/${refund.id}/${action}`, {})
}

async function deliver(story: Story, event: Event): Promise<void> {
  const reply = await call(story, () => story.world.deliver(event))
  if (reply.status === 200) story.delivered.push(event)
}

async function pass(story: Story, seconds: number): Promise<void> {
  story.world.clock.advance(seconds)
}

function create({ world, businessReference }: Story, { attempt }: Step) {
  const request = { businessReference, attemptReference: `a${attempt}` }
  return () => world.checkOut(request)
}

function refund({ world, paymentId }: Story, { reference, amount }: Step) {
  return paymentId ? () => world.refund(paymentId, { reference, amount }) : undefined
}

export const steps: Record<string, (story: Story, step: Step) => Promise<unknown>> = {
  create: (story, step) => call(story, create(story, step)),
  'die-in-create': (story, step) => die(story, 'POST /v1/checkout/sessions', create(story, step)),
  pay: atSession('pay'),
  decline: atSession('decline'),
  debit: atSession('bank-debit'),
  settle: atSession('settle'),
  fail: atSession('fail'),
  expire: atSession('expire'),
  refund: async (story, step) => {
    const act = refund(story, step)
    if (act) await call(story, act)
  },
  'die-in-refund': async (story, step) => {
    const act = refund(story, step)
    if (act) await die(story, 'POST /v1/refunds', act)
  },
  restart: ({ world }) => world.restart(),
  'succeed-refund': atRefund('succeed'),
  'fail-refund': atRefund('fail'),
  'cancel-refund': atRefund('cancel'),
  'dashboard-refund': async (story, { amount }) => {
    const [book] = await booksOf(story)
    if (!book || book.captured === 0) return
    story.dashboardRefunds += 1
    // A fault meant for a call of the service may strike here.
    await story.world.sandbox.dashboardRefund(book.paymentIntent, amount ?? 100).catch(() => {})
  },
  'refunds-go': ({ world }, { way }) => world.sandbox.switch({ refunds: way }),
  deliver: async (story, { which = 0 }) => {
    const events = await waiting(story)
    const event = events[which % Math.max(1, events.length)]
    if (event) await deliver(story, event)
  },
  'deliver-again': async (story, { which = 0 }) => {
    const event = story.delivered[which % Math.max(1, story.delivered.length)]
    if (event) await call(story, () => story.world.deliver(event))
  },
  drop: async (story, { which = 0 }) => {
    const events = await waiting(story)
    const event = events[which % Math.max(1, events.length)]
    if (event) story.dropped.add(event.id)
  },
  crash: async (story, { point }) => {
    story.breaking = true
    armFailPoint({ NODE_ENV: 'test', FAIL_POINT: `${point}=error` })
  },
  fault: ({ world }, { kind = '' }) => world.sandbox.fault({ kind, retryAfterSeconds: 0 }),
  outage: ({ world }) => world.sandbox.fault({ kind: 'outage' }),
  'outage-over': ({ world }) => world.sandbox.clearFaults(),
  look: async (story) => {
    await pass(story, 61)
    await story.world.jobs().reconcile.runNow()
  },
  poll: async (story) => {
    await pass(story, 400)
    await story.world
      .jobs()
      .poll.runNow()
      .catch(() => {})
  },
  'a-day-passes': (story) => pass(story, 25 * 3600),
}

/** Lets everything settle: no more faults, and enough time for every repair to run. */
export async function settle(story: Story): Promise<void> {
  const { world } = story
  disarm(story)
  await world.sandbox.clearFaults()
  for (const event of await waiting(story)) await deliver(story, event)
  for (let round = 0; round < 4; round++) {
    await pass(story, 7 * 3600)
    await world.jobs().poll.runNow()
    await world.jobs().reconcile.runNow()
    await world.jobs().retry.runNow()
  }
}
