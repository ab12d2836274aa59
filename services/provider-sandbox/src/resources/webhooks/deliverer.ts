import type { Sandbox } from '../../state/sandbox.ts'
import { readSwitches, type Switches } from '../../state/switches.ts'
import { deliver } from './deliver.ts'
import { type Delivery, listDueDeliveries } from './deliveries.repository.ts'

export type Deliverer = {
  /** To be called when something may be due. */
  wake(): void
  /** Sends everything that is due, also what waits to be reordered, and resolves when it is sent. */
  flush(): Promise<void>
  stop(): Promise<void>
}

/** Sends one delivery after the other, in the order in which they became due. */
export function startDeliverer(sandbox: Sandbox): Deliverer {
  const stopped = new AbortController()
  let turn: Promise<void> = Promise.resolve()
  let planned = false

  const enqueue = (gathered: boolean) => {
    const round = turn.then(() => sendDue(sandbox, gathered, stopped.signal))
    turn = round.catch((error) => sandbox.log.error({ err: error }, 'delivery failed'))
    return round
  }
  return {
    wake: () => {
      if (planned || stopped.signal.aborted) return
      planned = true
      setImmediate(() => {
        planned = false
        void enqueue(false)
      })
    },
    flush: async () => {
      if (stopped.signal.aborted) throw new Error('The sandbox is closing.')
      await enqueue(true)
    },
    stop: async () => {
      stopped.abort()
      await turn
    },
  }
}

async function sendDue(sandbox: Sandbox, gathered: boolean, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    const switches = await readSwitches(sandbox.db)
    const due = switches.paused ? [] : await listDueDeliveries(sandbox.db, sandbox.clock())
    const batch = arrange(due, switches, gathered)
    if (batch.length === 0) return
    for (const delivery of batch) await deliver(sandbox, delivery, switches, stopped)
  }
}

/** In order, or, when they are to be reordered, the newest first once enough have gathered. */
function arrange(due: Delivery[], { reorder }: Switches, gathered: boolean): Delivery[] {
  if (reorder < 2) return due
  if (due.length < reorder && !gathered) return []
  return due.toReversed()
}
