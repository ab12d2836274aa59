import { type Accounts, listTombstones } from '@plinth/accounts'
import { validationFailed } from '@plinth/kit/problems'
import { secondsAfter } from '@plinth/kit/runtime'

const PART = 500
/** Transactions do not commit in the order of their timestamps: an earlier one may still be in flight. */
const SETTLED_SECONDS = 60

/** Lists every erased user, oldest first. Entries are never removed, so a service that was down misses none. */
export async function deletedUsers({ db, clock }: Accounts, cursor: string | undefined) {
  const rows = await listTombstones(db, positionOf(cursor), PART)
  const settled = secondsAfter(clock(), -SETTLED_SECONDS).toISOString()
  const items = rows
    .filter(({ deletedAt }) => deletedAt <= settled)
    .map(({ userId, deletedAt }) => ({ id: userId, deletedAt }))
  const last = items.at(-1)
  return { items, next: last ? `${last.deletedAt}_${last.id}` : (cursor ?? null) }
}

function positionOf(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [, deletedAt, id] = /^(\d{4}-[\d-]+T[\d:.]+Z)_(\d{1,15})$/.exec(cursor) ?? []
  if (deletedAt === undefined) throw validationFailed(['after: is not a cursor of this list'])
  return { deletedAt, userId: Number(id) }
}
