import { systemClock } from '@plinth/kit'
import { type Check, configOf, type Finding, ok, type Patient, prefixOf, skip } from '../finding.ts'
import type { Reading } from './read-database.ts'

const DAY_MS = 86_400_000
/** The notice before a key ends that needs an answer. */
const NOTICE_DAYS = 7
/** A service rotates in the background, once in a while. */
const LATE_DAYS = 2

type Row = Record<string, string>
type Prepared = Patient['prepared'][number]

export async function keyFindings(
  patient: Patient,
  prepared: Prepared,
  reading: Reading,
): Promise<Finding[]> {
  return [
    ...(await sealFindings(prepared, reading)),
    ...(await rotationFindings(patient, prepared, reading)),
    ...(await endingFindings(prepared, reading)),
  ]
}

/** A sealed value names its key: that of another node, or of another installation, shows. */
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
      why: 'with another one the service does not start, and no signing key can be used',
      fix: `${prefixOf(prepared)}MASTER_KEY_FILE=<the file with the old key> in .env`,
    },
  ]
}

/** A running service replaces its signing key by itself. */
async function rotationFindings(
  { running }: Patient,
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
      seen: `${name}: the signing key is ${Math.round(age)} days old`,
      expected: `a new one every ${days} days (${prefixOf(prepared)}KEY_ROTATION_DAYS)`,
      why: 'a key that leaks is of use for as long as it signs',
      fix: `look for "accounts-maintenance" in the log of ${name}, which rotates it`,
    },
  ]
}

/** Service keys that end within days and have no successor. */
async function endingFindings({ entry: { name } }: Prepared, reading: Reading): Promise<Finding[]> {
  const read = `select id, name, expires_at from service_keys where revoked_at is null
    and id not in (select replaces_id from service_keys where replaces_id is not null)`
  const rows = await reading.rows(read).catch((): Row[] => [])
  const now = systemClock().getTime()
  const ending = rows.filter(({ expires_at = '' }) => {
    const days = (Date.parse(expires_at) - now) / DAY_MS
    return days > 0 && days <= NOTICE_DAYS
  })
  return ending.map(({ id, name: key, expires_at }) => ({
    check: 'keys',
    status: 'warn',
    seen: `${name}: the service key "${key}" ends at ${expires_at}`,
    expected: `more than ${NOTICE_DAYS} days, or a successor`,
    why: 'the server that calls with it is refused from then on',
    fix: `plinth keys rotate ${id} --service ${name}`,
  }))
}

/** What is for development, where it is switched on for others. */
const conveniences: Check = async ({ production, prepared }) => {
  if (!production)
    return [skip('keys', 'known secrets are for development; this is not production')]
  const found = prepared.flatMap((each): Finding[] =>
    each.service.conveniences.named.map((named) => ({
      check: 'keys',
      status: 'fail',
      seen: `${each.entry.name}: ${named}, in production`,
      expected: 'secrets that only this installation knows',
      why: 'everyone can read them in the documentation',
      fix: `remove what switches it on (${prefixOf(each)}…) from .env`,
    })),
  )
  return found.length > 0 ? found : [ok('keys', 'no secret is a known one')]
}

export const keyChecks: Check[] = [conveniences]
