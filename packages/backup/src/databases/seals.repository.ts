import { openText } from '@plinth/kit'

/** Columns that are sealed with the master key, in whichever service has them. */
export const SEALED_COLUMNS = [
  ['signing_keys', 'sealed_private_key'],
  ['storage_settings', 'sealed_settings'],
  ['event_endpoints', 'secret'],
] as const

type Read = (sql: string) => Promise<Record<string, unknown>[]>

/** A sealed value names its key: says which one it is, if it is another than this. */
export async function foreignSeal(
  read: Read,
  key: Buffer,
  columns: readonly (readonly [table: string, column: string])[],
): Promise<string | undefined> {
  for (const [table, column] of columns)
    for (const { sealed } of await read(
      `select distinct substr(${column}, 1, 11) as sealed from ${table}`,
    )) {
      const refusal = refusalOf(key, String(sealed))
      if (refusal !== undefined) return refusal
    }
  return undefined
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
