import { openText } from '@plinth/kit/tokens'

/** Columns sealed with the master key, across all services. */
export const SEALED_COLUMNS = [
  ['signing_keys', 'sealed_private_key'],
  ['storage_settings', 'sealed_settings'],
  ['event_endpoints', 'secret'],
] as const

type Read = (sql: string) => Promise<Record<string, unknown>[]>

type Seals = {
  /** Whether any value is sealed with this key. */
  hasOwn: boolean
  /** If any value is sealed with another key: the message of `openText` that names that key. */
  foreign: string | undefined
}

/** A sealed value starts with the id of its key. */
export async function sealsOf(
  read: Read,
  key: Buffer,
  columns: readonly (readonly [table: string, column: string])[],
): Promise<Seals> {
  const seals: Seals = { hasOwn: false, foreign: undefined }
  for (const [table, column] of columns)
    for (const { sealed } of await read(
      `select distinct substr(${column}, 1, 11) as sealed from ${table} where ${column} like 'v1.%'`,
    )) {
      const refusal = refusalOf(key, String(sealed))
      seals.hasOwn ||= refusal === undefined
      seals.foreign ??= refusal
    }
  return seals
}

function refusalOf(key: Buffer, sealed: string): string | undefined {
  try {
    openText(key, sealed, '')
  } catch (error) {
    const { message } = error as Error
    if (message.startsWith('Sealed with key')) return message
  }
  return undefined
}
