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

/** A process that does not renew for this long has lost its uploads to whoever asks next. */
const HOLD_MS = 4_000
const RENEW_MS = 1_000
/** How long a request waits for another one to let go. */
const MAX_WAIT_MS = 5_000
const LOOK_MS = 100

/** The upload as it was when it was claimed. `letGo` aborts when another request waits for it. */
export type HeldUpload = Upload & { letGo: AbortSignal }

export type Holds = {
  /**
   * Runs `work` while no other request, on any node, has the upload. One that has it is asked to let go: after a lost
   * connection a server may believe in the old request for minutes, while the client is already back.
   * Returns undefined when the upload is not unfinished any more.
   */
  withHold<R>(id: string, work: (upload: HeldUpload) => Promise<R>): Promise<R | undefined>
}

type Holding = { fence: number; letGo: AbortController; released: Promise<void> }

export function createHolds({ db, log }: Pick<Storage, 'db' | 'log'>): Holds {
  const holder = randomUUID()
  const held = new Map<string, Holding>()
  let timer: NodeJS.Timeout | undefined

  const renew = async () => {
    const renewed = await renewHolds(db, holder, HOLD_MS)
    const known = new Map(renewed.map((hold) => [hold.id, hold]))
    for (const [id, { fence, letGo }] of held) {
      const hold = known.get(id)
      if (hold?.fence !== fence || hold.isWanted) letGo.abort()
    }
  }
  const renewInTime = () => {
    renew().catch((error) => log.warn({ err: error }, 'unfinished uploads could not be renewed'))
  }

  const claim = async (id: string): Promise<Upload | undefined> => {
    const deadline = performance.now() + MAX_WAIT_MS
    for (;;) {
      const claimed = await claimUpload(db, { id, holder, forMs: HOLD_MS })
      const upload = await findUpload(db, id)
      if (upload?.state !== 'receiving') return undefined
      if (claimed) return { ...upload, ...claimed }
      if (performance.now() >= deadline) throw uploadLocked()
      const here = held.get(id)
      here?.letGo.abort()
      if (!here) await askToLetGo(db, id)
      await Promise.race([here?.released ?? new Promise(() => {}), pause(LOOK_MS)])
    }
  }

  return {
    async withHold(id, work) {
      const upload = await claim(id)
      if (!upload) return undefined
      const letGo = new AbortController()
      const { promise: released, resolve } = Promise.withResolvers<void>()
      const holding = { fence: upload.fence, letGo, released }
      held.set(id, holding)
      timer ??= setInterval(renewInTime, RENEW_MS).unref()
      try {
        return await work({ ...upload, letGo: letGo.signal })
      } finally {
        if (held.get(id) === holding) held.delete(id)
        if (held.size === 0) {
          clearInterval(timer)
          timer = undefined
        }
        // A hold that is not released runs out by itself.
        await releaseHold(db, upload).catch((error) =>
          log.warn({ err: error }, 'an unfinished upload could not be released'),
        )
        resolve()
      }
    },
  }
}
