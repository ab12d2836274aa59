import type { Db } from '@plinth/kit/database'
import { DAY_MS, type Examined, type Finding, systemClock } from '@plinth/kit/runtime'
import { listSigningKeys } from '@plinth/kit/tokens'
import type { AccountTables } from './database/tables.ts'
import type { AccountSettings } from './settings.ts'

/** Tolerance, because a service rotates its keys in the background from time to time. */
const LATE_DAYS = 2

/** A running service should have rotated its signing key. */
export async function rotationFindings(
  db: Db<AccountTables>,
  { name, prefix, isRunning }: Examined,
  { accounts: { keyRotationDays: days } }: { accounts: AccountSettings },
): Promise<Finding[]> {
  const newest = (await listSigningKeys(db)).at(-1)
  if (!isRunning || !newest) return []
  const age = (systemClock().getTime() - newest.signsFrom.getTime()) / DAY_MS
  if (age <= days + LATE_DAYS) return []
  return [
    {
      check: 'keys',
      status: 'warn',
      seen: `${name}: the signing key is ${Math.round(age)} days old`,
      expected: `a new one every ${days} days (${prefix}KEY_ROTATION_DAYS)`,
      why: 'a leaked key can be used for as long as it signs',
      fix: `look for "accounts-maintenance" in the log of ${name}: that job rotates it`,
    },
  ]
}
