import { createHash } from 'node:crypto'
import { validationFailed } from '@plinth/kit/problems'
import type { Sought } from './query.ts'
import type { Place } from './search.repository.ts'

/** What a cursor belongs to: the same search by the same caller. */
type Bound = { sought: Sought; ownerId: string | undefined }

function markOf({ sought, ownerId }: Bound): string {
  const text = JSON.stringify([ownerId ?? null, Object.entries(sought)])
  return createHash('sha256').update(text).digest('base64url').slice(0, 16)
}

/** Continues after this place. It is no secret: it only says where a caller is in what the caller may see. */
export function cursorAt({ key, id }: Place, bound: Bound): string {
  return Buffer.from(JSON.stringify([markOf(bound), key, id])).toString('base64url')
}

export function placeOf(cursor: string, bound: Bound): Place {
  const [mark, key, id] = partsOf(cursor)
  const hasKey =
    bound.sought.sort.by === 'size'
      ? Number.isSafeInteger(key)
      : typeof key === 'string' && key.isWellFormed() && !key.includes('\0')
  if (mark !== markOf(bound) || !hasKey || !Number.isSafeInteger(id))
    throw validationFailed(['cursor: must be the nextCursor of the same search'])
  return { key: key as string | number, id: id as number }
}

function partsOf(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
}
