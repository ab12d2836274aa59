import { armFailPoint } from '@plinth/kit'
import type { ApiReply } from '@plinth/kit/testing'
import { checkReply } from './invariants.ts'
import type { startLoop } from './start-loop.ts'

type Event = { id: string; type: string; data: { object: { metadata?: object; id: string } } }

/** One payment and everything the outside world did to it. */
export type Story = {
  loop: Awaited<ReturnType<typeof startLoop>>
  businessReference: string
  paymentId: string | undefined
  /** Events that happened before this story. */
  old: Set<string>
  delivered: Event[]
  dropped: Set<string>
  /** How often somebody pressed the refund button at the provider, heard or not. */
  dashboardRefunds: number
  wasSettled: boolean
}

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

let stories = 0

export async function newStory(loop: Story['loop']): Promise<Story> {
  stories += 1
  armFailPoint({})
  await loop.sandbox.clearFaults()
  await loop.sandbox.switch({ drop: ['*'], refunds: 'succeed' })
  return {
    loop,
    businessReference: `story ${stories}`,
    paymentId: undefined,
    old: new Set((await loop.sandbox.events()).map(({ id }: Event) => id)),
    delivered: [],
    dropped: new Set(),
    dashboardRefunds: 0,
    wasSettled: false,
  }
}

export async function sessionsOf({ loop, businessReference }: Story) {
  const sessions: { id: string; status: string; metadata: Record<string, string> }[] =
    await loop.sandbox.sessions()
  return sessions.filter(({ metadata }) => metadata.businessReference === businessReference)
}

export async function refundsOf(story: Story) {
  const intents = (await booksOf(story)).map(({ paymentIntent }) => paymentIntent)
  const refunds: {
    id: string
    status: string
    payment_intent: string
    metadata: Record<string, string>
  }[] = await story.loop.sandbox.refunds()
  return refunds.filter((refund) => intents.includes(refund.payment_intent))
}

type Book = {
  paymentIntent: string
  status: string
  captured: number
  refunded: number
  metadata: Record<string, string>
}

export async function booksOf({ loop, businessReference }: Story): Promise<Book[]> {
  const { payments }: { payments: Book[] } = await loop.sandbox.books()
  return payments.filter(({ metadata }) => metadata.businessReference === businessReference)
}

async function waiting({ loop, old, delivered, dropped }: Story): Promise<Event[]> {
  const events: Event[] = await loop.sandbox.events()
  const done = new Set(delivered.map(({ id }) => id))
  return events.filter(({ id }) => !old.has(id) && !done.has(id) && !dropped.has(id))
}

/** Arms whatever `crash` prepared for one call of ours, and looks at the answer. */
async function call(story: Story, act: () => Promise<ApiReply>): Promise<ApiReply> {
  const reply = await act()
  armFailPoint({})
  checkReply(reply)
  if (reply.status === 201 && reply.body.paymentId) story.paymentId ??= reply.body.paymentId
  story.paymentId ??= await findPayment(story)
  return reply
}

async function findPayment({ loop, businessReference }: Story): Promise<string | undefined> {
  const query = new URLSearchParams({ businessReference })
  return (await loop.api.get(`/api/payments?${query}`)).body.content[0]?.id
}

/** What the customer or the bank does, as far as the provider lets them. */
const atSession = (action: string) => async (story: Story) => {
  const [session] = await sessionsOf(story)
  const body = action === 'bank-debit' ? { delaySeconds: 10 ** 8 } : {}
  if (session)
    await story.loop.sandbox.api.post(`/sandbox/api/sessions/${session.id}/${action}`, body)
}

const atRefund = (action: string) => async (story: Story) => {
  const [refund] = await refundsOf(story)
  if (refund) await story.loop.sandbox.api.post(`/sandbox/api/refunds/${refund.id}/${action}`, {})
}

async function deliver(story: Story, event: Event): Promise<void> {
  const reply = await call(story, () => story.loop.deliver(event))
  if (reply.status === 200) story.delivered.push(event)
}

async function pass(story: Story, seconds: number): Promise<void> {
  story.loop.clock.advance(seconds)
}

export const steps: Record<string, (story: Story, step: Step) => Promise<unknown>> = {
  create: (story, { attempt }) => {
    const { businessReference } = story
    const request = { businessReference, attemptReference: `a${attempt}` }
    return call(story, () => story.loop.checkOut(request))
  },
  pay: atSession('pay'),
  decline: atSession('decline'),
  debit: atSession('bank-debit'),
  settle: atSession('settle'),
  fail: atSession('fail'),
  expire: atSession('expire'),
  refund: async (story, { reference, amount }) => {
    const { paymentId } = story
    if (paymentId) await call(story, () => story.loop.refund(paymentId, { reference, amount }))
  },
  'succeed-refund': atRefund('succeed'),
  'fail-refund': atRefund('fail'),
  'cancel-refund': atRefund('cancel'),
  'dashboard-refund': async (story, { amount }) => {
    const [book] = await booksOf(story)
    if (!book || book.captured === 0) return
    story.dashboardRefunds += 1
    // A fault that was meant for us may strike here.
    await story.loop.sandbox.dashboardRefund(book.paymentIntent, amount ?? 100).catch(() => {})
  },
  'refunds-go': ({ loop }, { way }) => loop.sandbox.switch({ refunds: way }),
  deliver: async (story, { which = 0 }) => {
    const events = await waiting(story)
    const event = events[which % Math.max(1, events.length)]
    if (event) await deliver(story, event)
  },
  'deliver-again': async (story, { which = 0 }) => {
    const event = story.delivered[which % Math.max(1, story.delivered.length)]
    if (event) await call(story, () => story.loop.deliver(event))
  },
  drop: async (story, { which = 0 }) => {
    const events = await waiting(story)
    const event = events[which % Math.max(1, events.length)]
    if (event) story.dropped.add(event.id)
  },
  crash: async (_story, { point }) => {
    armFailPoint({ NODE_ENV: 'test', FAIL_POINT: `${point}=error` })
  },
  fault: ({ loop }, { kind = '' }) => loop.sandbox.fault({ kind, retryAfterSeconds: 0 }),
  outage: ({ loop }) => loop.sandbox.fault({ kind: 'outage' }),
  'outage-over': ({ loop }) => loop.sandbox.clearFaults(),
  look: async (story) => {
    await pass(story, 61)
    await story.loop.jobs.look.runNow()
  },
  poll: async (story) => {
    await pass(story, 400)
    await story.loop.jobs.poll.runNow().catch(() => {})
  },
  'a-day-passes': (story) => pass(story, 25 * 3600),
}

/** The world calms down: no more faults, and time enough for everything that heals by itself. */
export async function settle(story: Story): Promise<void> {
  const { loop } = story
  armFailPoint({})
  await loop.sandbox.clearFaults()
  for (const event of await waiting(story)) await deliver(story, event)
  for (let round = 0; round < 4; round++) {
    await pass(story, 7 * 3600)
    await loop.jobs.poll.runNow()
    await loop.jobs.look.runNow()
    await loop.jobs.retry.runNow()
  }
}
