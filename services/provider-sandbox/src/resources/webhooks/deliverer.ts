import type { Surroundings } from '../../state/sandbox.ts'
import { readSwitches, type Switches } from '../../state/switches.ts'
import { deliver } from './deliver.ts'
import { type DueDelivery, listDueDeliveries } from './deliveries.repository.ts'
import { createSender } from './send.ts'

export type Deliverer = {
  /** To be called when something may be due. */
  wake(): void
  /** Sends everything that is due, including what waits to be reordered, and resolves when it is sent. */
  flush(): Promise<void>
  stop(): Promise<void>
}

const MAX_AT_ONCE = 16
const MAX_TAKEN = 200

/**
 * Sends several deliveries at a time. Deliveries to one endpoint about one payment or customer are sent
 * one after the other, in the order in which they became due.
 */
export function startDeliverer(sandbox: Surroundings): Deliverer {
  const stopped = new AbortController()
  const sender = createSender(sandbox)
  const taken = new Set<number>()
  const queues = createQueues(MAX_AT_ONCE)
  let listing: Promise<unknown> = Promise.resolve()
  let more = false
  let planned = false

  const outgoing = { sender, stopped: stopped.signal }
  const send = async (delivery: DueDelivery, switches: Switches) => {
    try {
      if (!stopped.signal.aborted) await deliver(sandbox, delivery, switches, outgoing)
    } finally {
      taken.delete(delivery.id)
    }
    if (more && taken.size < MAX_TAKEN / 2) wake()
  }
  const take = async (gathered: boolean) => {
    const switches = await readSwitches(sandbox.db)
    if (switches.paused || stopped.signal.aborted) return false
    const most = MAX_TAKEN + switches.reorder
    const due = await listDueDeliveries(sandbox.db, sandbox.clock(), most)
    more = due.length === most
    const isNew = ({ id }: DueDelivery) => !taken.has(id)
    const batch = arrange(due.filter(isNew), switches, gathered)
    for (const delivery of batch) {
      const queue =
        switches.reorder < 2 ? `${delivery.endpointId} ${delivery.subject}` : 'reordered'
      taken.add(delivery.id)
      queues
        .add(queue, () => send(delivery, switches))
        .catch((error) => sandbox.log.error({ err: error }, 'delivery failed'))
    }
    return batch.length > 0
  }
  const takeInTurn = (gathered: boolean) => {
    const taking = listing.then(() => take(gathered))
    listing = taking.catch((error) => sandbox.log.error({ err: error }, 'delivery failed'))
    return taking
  }
  const wake = () => {
    if (planned || stopped.signal.aborted) return
    planned = true
    setImmediate(() => {
      planned = false
      void takeInTurn(false)
    })
  }
  const flush = async () => {
    if (stopped.signal.aborted) throw new Error('The sandbox is closing.')
    while (await takeInTurn(true)) await queues.drain()
    await queues.drain()
  }
  const stop = async () => {
    stopped.abort()
    await listing
    await queues.drain().catch(() => {})
    sender.close()
  }
  return { wake, flush, stop }
}

/** In order, or, if they are to be reordered, newest first once enough have gathered. */
function arrange(due: DueDelivery[], { reorder }: Switches, gathered: boolean): DueDelivery[] {
  if (reorder < 2) return due
  if (due.length < reorder && !gathered) return []
  return due.toReversed()
}

/** Named queues: each runs its work one after the other, and at most `most` run at once overall. */
function createQueues(most: number) {
  const last = new Map<string, Promise<void>>()
  const waiting: (() => void)[] = []
  let free = most
  const inSlot = async (work: () => Promise<void>) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free -= 1
    try {
      await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
  const add = (name: string, work: () => Promise<void>): Promise<void> => {
    const before = last.get(name)?.catch(() => {}) ?? Promise.resolve()
    const done = before
      .then(() => inSlot(work))
      .finally(() => {
        if (last.get(name) === done) last.delete(name)
      })
    last.set(name, done)
    return done
  }
  const drain = async () => {
    const ended = await Promise.allSettled(last.values())
    const failed = ended.find(({ status }) => status === 'rejected')
    if (failed) throw (failed as PromiseRejectedResult).reason
  }
  return { add, drain }
}
