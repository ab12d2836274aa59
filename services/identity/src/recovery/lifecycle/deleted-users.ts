import { type Accounts, listTombstones } from '@plinth/accounts'
import { secondsAfter, validationFailed } from '@plinth/kit'

const PART = 500
/** Transactions commit in another order than their clocks say: a later one may still be under way. */
const SETTLED_SECONDS = 60

/** Everyone who was erased, oldest first and for ever: a service that was away misses none. */
export async function deletedUsers({ db, clock }: Accounts, cursor: string | undefined) {
  const rows = await listTombstones(db, placeOf(cursor), PART)
  const settled = secondsAfter(clock(), -SETTLED_SECONDS).toISOString()
  const items = rows
    .filter(({ deletedAt }) => deletedAt <= settled)
    .map(({ userId, deletedAt }) => ({ id: userId, deletedAt }))
  const last = items.at(-1)
  return { items, next: last ? `${last.deletedAt}_${last.id}` : (cursor ?? null) }
}

function placeOf(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [, deletedAt, id] = /^(\d{4}-[\d-]+T[\d:.]+Z)_(\d{1,15})$/.exec(cursor) ?? []
  if (deletedAt === undefined) throw validationFailed(['after: is not a cursor of this list'])
  return { deletedAt, userId: Number(id) }
}
