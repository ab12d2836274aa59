import { openText, type Sealed } from '@plinth/kit/tokens'
import type { SealedIn } from '../sources/service-data.ts'

type Read = (sql: string) => Promise<Record<string, unknown>[]>

type Seals = {
  /** Whether any value is sealed with this key. */
  hasOwn: boolean
  /** If any value is sealed with another key: the message of `openText` that names that key. */
  foreign: string | undefined
}

/** A sealed value starts with the id of its key. */
export async function sealsOf(read: Read, key: Buffer, columns: SealedIn): Promise<Seals> {
  const seals: Seals = { hasOwn: false, foreign: undefined }
  const named = Object.entries(columns).flatMap(([table, names]) =>
    Object.keys(names).map((column) => ({ table, column })),
  )
  for (const { table, column } of named)
    for (const { sealed } of await read(
      `select distinct substr(${column}, 1, 11) as sealed from ${table} where ${column} like 'v1.%'`,
    )) {
      const refusal = refusalOf(key, sealed as Sealed)
      seals.hasOwn ||= refusal === undefined
      seals.foreign ??= refusal
    }
  return seals
}

function refusalOf(key: Buffer, sealed: Sealed): string | undefined {
  try {
    openText(key, sealed, '')
  } catch (error) {
    const { message } = error as Error
    if (message.startsWith('Sealed with key')) return message
  }
  return undefined
}
