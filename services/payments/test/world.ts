import { armFailPoint } from '@plinth/kit/runtime'
import { type ApiReply, testClock } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { checkoutBody, providerEnv, startSandbox } from './start-loop.ts'
import { startPayments } from './start-payments.ts'

type Scope = { after(work: () => Promise<void> | void): void }

export type World = Awaited<ReturnType<typeof startWorld>>

/** A provider and a database that outlive the payment service, which may die at any time. */
export async function startWorld(t: Scope, databaseUrl: string) {
  const clock = testClock()
  const sandbox = await startSandbox(t, clock)
  const options = {
    clock,
    databaseUrl,
    env: providerEnv(sandbox),
    overrides: { providerRetries: 0, providerMilliseconds: 5000 },
  }
  const open = async () => {
    const endings: (() => Promise<void> | void)[] = []
    const started = await startPayments({ after: (work) => void endings.push(work) }, options)
    const close = async () => {
      for (const end of endings) await end()
    }
    return { ...started, close }
  }
  let service = await open()
  t.after(() => service.close())

  const restart = async () => {
    await service.close()
    service = await open()
  }

  /**
   * Ends the service while the provider is working on a call made by `act`: the service's connections and
   * database are gone when the answer arrives. Undefined, unless `act` was answered without such a call.
   */
  const dieIn = async (route: string, act: () => Promise<ApiReply>) => {
    await sandbox.clearFaults()
    await sandbox.fault({ kind: 'hold', route })
    let answer: ApiReply | undefined
    const call = act().then(
      (reply) => {
        answer = reply
      },
      () => {},
    )
    await until(async () => answer || (await sandbox.faults()).length === 0, Boolean, 5)
    await restart()
    // Leases of the dead service would expire by themselves within seconds.
    await service.payments.db.deleteFrom('leases').execute()
    await sandbox.clearFaults()
    await sandbox.release()
    await call
    return answer
  }

  const read = async (path: string) => (await service.api.get(path)).body
  return {
    clock,
    sandbox,
    restart,
    dieIn,
    read,
    database: () => service.payments.db,
    jobs: () => service.jobs,
    deliver: (event: unknown) => service.deliver(event),
    payment: (id: string) => read(`/api/payments/${id}`),
    timeline: (id: string) => read(`/api/payments/${id}/timeline`),
    checkOut: (request: object) =>
      service.api.post('/api/checkout/sessions', checkoutBody(request)),
    refund: (id: string, request: object) =>
      service.api.post(`/api/payments/${id}/refund`, request),
  }
}

export type Event = {
  id: string
  type: string
  data: { object: { metadata?: object; id: string } }
}

/** One payment and everything the outside world did to it. */
export type Story = {
  world: World
  businessReference: string
  paymentId: string | undefined
  /** Events from before this story. */
  old: Set<string>
  delivered: Event[]
  dropped: Set<string>
  /** How often a refund was made in the provider's dashboard, whether or not its event arrived. */
  dashboardRefunds: number
  /** A fail point is armed. */
  breaking: boolean
  wasSettled: boolean
}

let stories = 0

export async function newStory(world: World): Promise<Story> {
  stories += 1
  armFailPoint({})
  await world.sandbox.clearFaults()
  await world.sandbox.switch({ drop: ['*'], refunds: 'succeed' })
  return {
    world,
    businessReference: `story ${stories}`,
    paymentId: undefined,
    old: new Set((await world.sandbox.events()).map(({ id }: Event) => id)),
    delivered: [],
    dropped: new Set(),
    dashboardRefunds: 0,
    breaking: false,
    wasSettled: false,
  }
}

export async function sessionsOf({ world, businessReference }: Story) {
  const sessions: { id: string; status: string; metadata: Record<string, string> }[] =
    await world.sandbox.sessions()
  return sessions.filter(({ metadata }) => metadata.businessReference === businessReference)
}

export async function refundsOf(story: Story) {
  const intents = (await booksOf(story)).map(({ paymentIntent }) => paymentIntent)
  const refunds: {
    id: string
    status: string
    amount: number
    payment_intent: string
    metadata: Record<string, string>
  }[] = await story.world.sandbox.refunds()
  return refunds.filter((refund) => intents.includes(refund.payment_intent))
}

type Book = {
  paymentIntent: string
  status: string
  captured: number
  refunded: number
  metadata: Record<string, string>
}

export async function booksOf({ world, businessReference }: Story): Promise<Book[]> {
  const { payments }: { payments: Book[] } = await world.sandbox.books()
  return payments.filter(({ metadata }) => metadata.businessReference === businessReference)
}
