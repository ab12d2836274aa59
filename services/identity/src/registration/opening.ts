import { type By, recordSecurityEvent } from '@plinth/accounts'
import { type Db, type Followed, followDatabase, inTransaction } from '@plinth/kit/database'
import type { Logger } from '@plinth/kit/logging'
import type { Clock } from '@plinth/kit/runtime'
import {
  deleteChangedSetting,
  findChangedSetting,
  upsertChangedSetting,
} from '../database/changed-settings.repository.ts'
import type { IdentityTables } from '../database/tables.ts'

/** Whether people may register themselves: what administrators have decided, or else the settings. */
export type Opening = {
  db: Db<IdentityTables>
  clock: Clock
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
  const { clock } = opening
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

/** Makes a decision apply to this process, also one that was made at another node. */
export function followOpening(opening: Opening, log: Logger): Followed & { isOpen(): boolean } {
  let isOpen = opening.setting
  const followed = followDatabase({
    name: 'the opening of the registration',
    log,
    read: () => describeOpening(opening),
    apply: ({ open }) => {
      isOpen = open
    },
  })
  return { ...followed, isOpen: () => isOpen }
}
