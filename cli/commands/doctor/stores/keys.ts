import { systemClock } from '@plinth/kit/runtime'
import { prefixOf } from '../../../../launcher/services.ts'
import { counted } from '../../../command.ts'
import {
  type Check,
  configOf,
  type Finding,
  type Installation,
  ok,
  skip,
  unknown,
} from '../finding.ts'
import type { Reading } from './read-database.ts'

const DAY_MS = 86_400_000
/** How long before a service key expires to warn about it. */
const NOTICE_DAYS = 7
/** Tolerance, because a service rotates its keys in the background from time to time. */
const LATE_DAYS = 2

type Row = Record<string, string>
type Prepared = Installation['prepared'][number]

export async function keyFindings(
  installation: Installation,
  prepared: Prepared,
  reading: Reading,
): Promise<Finding[]> {
  return [
    ...(await sealFindings(prepared, reading)),
    ...(await rotationFindings(installation, prepared, reading)),
    ...(await expiryFindings(prepared, reading)),
  ]
}

/** A sealed value names its key, which reveals the key of another node or installation. */
async function sealFindings(prepared: Prepared, reading: Reading): Promise<Finding[]> {
  const { accounts, masterKey = accounts?.masterKey } = configOf(prepared)
  if (!masterKey) return []
  const { SEALED_COLUMNS, sealsOf } = await import('@plinth/backup')
  const read = (sql: string) => reading.rows(sql).catch((): Row[] => [])
  const { foreign } = await sealsOf(read, masterKey, SEALED_COLUMNS)
  if (foreign === undefined) return []
  return [
    {
      check: 'keys',
      status: 'fail',
      seen: `${prepared.entry.name}: ${foreign}`,
      expected: 'the key that the data was sealed with, the same on every node',
      why: 'with another key the service does not start, and no signing key can be used',
      fix: `${prefixOf(prepared.entry)}MASTER_KEY_FILE=<the file with the old key> in .env`,
    },
  ]
}

/** A running service should have rotated its signing key. */
async function rotationFindings(
  { running }: Installation,
  prepared: Prepared,
  reading: Reading,
): Promise<Finding[]> {
  const { name } = prepared.entry
  const days = configOf(prepared).accounts?.keyRotationDays
  const read = 'select max(signs_from) as since from signing_keys'
  const [row] = await reading.rows(read).catch((): Row[] => [])
  const age = (systemClock().getTime() - Date.parse(row?.since ?? '')) / DAY_MS
  if (days === undefined || !running.has(name) || !(age > days + LATE_DAYS)) return []
  return [
    {
      check: 'keys',
      status: 'warn',
      seen: `${name}: the signing key is ${counted(Math.round(age), 'day')} old`,
      expected: `a new one every ${counted(days, 'day')} (${prefixOf(prepared.entry)}KEY_ROTATION_DAYS)`,
      why: 'a leaked key can be used for as long as it signs',
      fix: `look for "accounts-maintenance" in the log of ${name}: that job rotates it`,
    },
  ]
}

/** Service keys that expire within days and have no successor. */
async function expiryFindings({ entry: { name } }: Prepared, reading: Reading): Promise<Finding[]> {
  const read = `select id, name, expires_at from service_keys where revoked_at is null
    and id not in (select replaces_id from service_keys where replaces_id is not null)`
  const rows = await reading.rows(read).catch((): Row[] => [])
  const now = systemClock().getTime()
  const expiring = rows.filter(({ expires_at = '' }) => {
    const days = (Date.parse(expires_at) - now) / DAY_MS
    return days > 0 && days <= NOTICE_DAYS
  })
  return expiring.map(({ id, name: key, expires_at }) => ({
    check: 'keys',
    status: 'warn',
    seen: `${name}: the service key "${key}" expires at ${expires_at}`,
    expected: `more than ${NOTICE_DAYS} days, or a successor`,
    why: 'the server that uses it is refused from then on',
    fix: `plinth keys rotate ${id} --service ${name}`,
  }))
}

/** Development conveniences that are switched on in production. */
const conveniences: Check = async ({ production, prepared, suite }) => {
  if (!production) return [skip('keys', 'well-known secrets are allowed: this is not production')]
  if (!suite) return [unknown('keys')]
  const found = prepared.flatMap((each): Finding[] =>
    each.service.conveniences.named.map((named) => ({
      check: 'keys',
      status: 'fail',
      seen: `${each.entry.name}: ${named}, in production`,
      expected: 'secrets that only this installation knows',
      why: 'anyone can read them in the documentation',
      fix: `remove the setting that enables it (${prefixOf(each.entry)}…) from .env`,
    })),
  )
  return found.length > 0 ? found : [ok('keys', 'no well-known secrets')]
}

export const keyChecks: Check[] = [conveniences]
