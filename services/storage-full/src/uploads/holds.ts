import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Storage } from '../files/storage.ts'
import { uploadLocked } from './problems.ts'
import {
  askToLetGo,
  claimUpload,
  findUpload,
  releaseHold,
  renewHolds,
  type Upload,
} from './uploads.repository.ts'

/** A process that does not renew for this long has lost its uploads to the next request that asks. */
const HOLD_MS = 4_000
const RENEW_MS = 1_000
/** How long a request waits for another one to let go. */
const MAX_WAIT_MS = 5_000
const LOOK_MS = 100

/** The upload as it was when it was claimed. `letGo` aborts when another request waits for it. */
export type HeldUpload = Upload & {
  letGo: AbortSignal
  /**
   * To be called before bytes are written. A process that was paused for longer than its hold lasts asks whether it
   * still has the upload: its successor may have made a file of the same bytes by now.
   */
  confirm(): Promise<void> | undefined
}

export type Holds = {
  /**
   * Runs `work` while no other request, on any node, has the upload. One that has it is asked to let go: after a lost
   * connection a server may believe in the old request for minutes, while the client is already back.
   * Returns undefined when the upload is not unfinished any more.
   */
  withHold<R>(id: string, work: (upload: HeldUpload) => Promise<R>): Promise<R | undefined>
}

type Holding = {
  fence: number
  letGo: AbortController
  released: Promise<void>
  /** When the hold was certainly in force. */
  renewedAt: number
}

type Held = Map<string, Holding>

export function createHolds({ db, log }: Pick<Storage, 'db' | 'log'>): Holds {
  const holder = randomUUID()
  const held: Held = new Map()
  const renewals = renewalsOf({ db, log }, holder, held)

  const claim = async (id: string): Promise<(Upload & { renewedAt: number }) | undefined> => {
    const deadline = performance.now() + MAX_WAIT_MS
    for (;;) {
      const renewedAt = performance.now()
      const claimed = await claimUpload(db, { id, holder, forMs: HOLD_MS })
      const upload = await findUpload(db, id)
      if (upload?.state !== 'receiving') return undefined
      if (claimed) return { ...upload, ...claimed, renewedAt }
      if (performance.now() >= deadline) throw uploadLocked()
      const here = held.get(id)
      here?.letGo.abort()
      if (!here) await askToLetGo(db, id)
      await Promise.race([here?.released ?? new Promise(() => {}), pause(LOOK_MS)])
    }
  }

  return {
    async withHold(id, work) {
      const claimed = await claim(id)
      if (!claimed) return undefined
      const { renewedAt, ...upload } = claimed
      const letGo = new AbortController()
      const { promise: released, resolve } = Promise.withResolvers<void>()
      const holding = { fence: upload.fence, letGo, released, renewedAt }
      held.set(id, holding)
      renewals.begin()
      try {
        const confirm = () => renewals.confirm(holding)
        return await work({ ...upload, letGo: letGo.signal, confirm })
      } finally {
        if (held.get(id) === holding) held.delete(id)
        if (held.size === 0) renewals.end()
        // A hold that is not released runs out by itself.
        await releaseHold(db, upload).catch((error) =>
          log.warn({ err: error }, 'an unfinished upload could not be released'),
        )
        resolve()
      }
    },
  }
}

/** Renews everything that this process has with one statement, as long as it has anything. */
function renewalsOf({ db, log }: Pick<Storage, 'db' | 'log'>, holder: string, held: Held) {
  let timer: NodeJS.Timeout | undefined
  const renew = async () => {
    const startedAt = performance.now()
    // Not those that are claimed while the statement runs: it may not have seen them.
    const known = [...held]
    const renewed = new Map((await renewHolds(db, holder, HOLD_MS)).map((hold) => [hold.id, hold]))
    for (const [id, holding] of known) {
      const hold = renewed.get(id)
      const isOurs = hold?.fence === holding.fence
      if (isOurs) holding.renewedAt = startedAt
      if (!isOurs || hold.isWanted) holding.letGo.abort()
    }
  }
  const renewInTime = () => {
    renew().catch((error) => log.warn({ err: error }, 'unfinished uploads could not be renewed'))
  }
  const confirmNow = async (holding: Holding) => {
    const askedAt = performance.now()
    await renew()
    if (holding.renewedAt < askedAt) throw uploadLocked()
  }
  return {
    begin() {
      timer ??= setInterval(renewInTime, RENEW_MS).unref()
    },
    end() {
      clearInterval(timer)
      timer = undefined
    },
    confirm: (holding: Holding) =>
      performance.now() - holding.renewedAt < HOLD_MS ? undefined : confirmNow(holding),
  }
}
