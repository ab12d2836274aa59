import { type Accounts, type By, recordSecurityEvent } from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import {
  deleteChangedSetting,
  findChangedSetting,
  upsertChangedSetting,
} from '../database/changed-settings.repository.ts'
import type { IdentityTables } from '../database/tables.ts'

/** Whether people may register themselves: what administrators have decided, or else the settings. */
export type Opening = {
  accounts: Accounts
  db: Db<IdentityTables>
  /** What the settings say. */
  setting: boolean
}

const NAME = 'registration'
const OPEN = 'open'
const textOf = (open: boolean) => (open ? OPEN : 'closed')

export async function describeOpening({ db, setting }: Opening) {
  const changed = await findChangedSetting(db, NAME)
  return {
    open: changed ? changed.value === OPEN : setting,
    setting,
    changedAt: changed?.changedAt ?? null,
  }
}

/** Null: what the settings say again. Saves what differs from what applies, with an audit event. */
export async function changeOpening(
  opening: Opening,
  wanted: boolean | null,
  { actor, origin }: By,
): Promise<void> {
  const { clock } = opening.accounts
  await inTransaction(opening.db, async (db) => {
    const before = await findChangedSetting(db, NAME)
    const value = wanted === null ? undefined : textOf(wanted)
    if (value === before?.value) return
    if (value === undefined) await deleteChangedSetting(db, NAME)
    else await upsertChangedSetting(db, NAME, { value, changedAt: clock().toISOString() })
    const setting = textOf(opening.setting)
    const reason = `${before?.value ?? setting}, now ${value ?? `${setting} as in the settings`}`
    const entry = { event: 'REGISTRATION_CHANGED', actor, subject: NAME, reason } as const
    await recordSecurityEvent({ db, clock }, entry, origin)
  })
}

export type LiveOpening = {
  /** Reads what administrators have decided. */
  refresh(): Promise<void>
  stop(): Promise<void>
}

const FOLLOW_MS = 1000

/**
 * Makes a decision apply to this process, also one that was made at another node. The registration of accounts reads
 * the settings anew each time, so what is put there applies from now on.
 */
export function followOpening(opening: Opening): LiveOpening {
  let [begun, applied] = [0, 0]
  const refresh = async () => {
    begun += 1
    const round = begun
    const { open } = await describeOpening(opening)
    // What was read before a change must not undo it.
    if (round < applied) return
    applied = round
    opening.accounts.settings.registration.open = open
  }
  let last: Promise<void> | undefined
  const timer = setInterval(() => {
    // The requests report an outage of the database; the last known decision applies until it is over.
    last ??= refresh()
      .catch(() => {})
      .finally(() => {
        last = undefined
      })
  }, FOLLOW_MS).unref()
  const stop = async () => {
    clearInterval(timer)
    await last
  }
  return { refresh, stop }
}
