import { existsSync, statSync } from 'node:fs'
import { openText, VERSION } from '@plinth/kit'
import { clockFindings } from './addresses.ts'
import {
  type Check,
  type Config,
  configOf,
  type Finding,
  ok,
  type Patient,
  prefixOf,
  skip,
} from './finding.ts'
import { type Reading, readDatabase } from './read-database.ts'

const LARGEST_LOG_BYTES = 2 ** 30

type Row = Record<string, string>

/** Nothing is migrated and nothing written. */
const database: Check = async (patient) => {
  const stored = patient.prepared.filter((each) => configOf(each).databaseUrl !== undefined)
  const findings = await Promise.all(stored.map((each) => databaseFindings(patient, each)))
  return findings.flat()
}

async function databaseFindings(
  { hasData }: Patient,
  prepared: Patient['prepared'][number],
): Promise<Finding[]> {
  const config = configOf(prepared)
  const { name } = prepared.entry
  const setting = `${prefixOf(prepared)}DATABASE_URL`
  const url = config.databaseUrl ?? ''
  const file = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined
  if (file !== undefined && (!hasData || !existsSync(file)))
    return [skip('database', `${name}: ${file} is not there yet: the first start makes it`)]
  let reading: Reading
  try {
    reading = await readDatabase(url)
  } catch (error) {
    return [
      {
        check: 'database',
        status: 'fail',
        seen: `${name}: ${(error as Error).message}`,
        expected: `a database that answers at ${setting}`,
        why: `${name} does not start without it`,
        fix:
          file === undefined
            ? `start PostgreSQL, or correct ${setting}`
            : `restore ${file} from a backup`,
      },
    ]
  }
  try {
    const found = [
      ...(await (file === undefined ? serverFindings : fileFindings)(name, reading, config, file)),
      ...(await versionFindings(name, reading)),
      ...(await keyFindings(name, reading, config, prefixOf(prepared))),
    ]
    const isSound = found.every(({ status }) => status === 'ok')
    return isSound ? [...found, ok('database', `${name}: sound, and its keys open it`)] : found
  } finally {
    await reading.close()
  }
}

async function fileFindings(
  name: string,
  reading: Reading,
  _config: Config,
  file = '',
): Promise<Finding[]> {
  const [checked] = await reading.rows('pragma quick_check(1)')
  const findings: Finding[] = []
  if (checked?.quick_check !== 'ok')
    findings.push({
      check: 'database',
      status: 'fail',
      seen: `${name}: ${checked?.quick_check}`,
      expected: 'a sound file',
      fix: `restore ${file} from a backup`,
    })
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (log > LARGEST_LOG_BYTES)
    findings.push({
      check: 'database',
      status: 'warn',
      seen: `${name}: the log ${file}-wal has ${Math.round(log / 2 ** 20)} MB`,
      expected: 'less than 1 GB',
      why: 'a reader that never ends keeps it from being emptied',
      fix: 'restart the service',
    })
  return findings
}

async function serverFindings(name: string, reading: Reading, config: Config): Promise<Finding[]> {
  const [about] = await reading.rows(
    `select current_setting('server_encoding') as encoding, current_setting('max_connections') as most,
      extract(epoch from clock_timestamp()) * 1000 as now`,
  )
  const findings = clockFindings(`the database of ${name}`, Number(about?.now))
  if (about?.encoding !== 'UTF8')
    findings.push({
      check: 'database',
      status: 'fail',
      seen: `${name}: the encoding is ${about?.encoding}`,
      expected: 'UTF8',
      why: 'names of other languages cannot be stored',
      fix: `create database plinth encoding 'UTF8' template template0`,
    })
  const pool = config.database?.poolSize ?? 0
  if (pool * 3 > Number(about?.most))
    findings.push({
      check: 'database',
      status: 'warn',
      seen: `${name}: three nodes would take ${3 * pool} of ${about?.most} connections`,
      expected: 'room for every node',
      fix: 'a smaller …_DATABASE_CONNECTIONS, or a larger max_connections',
    })
  return findings
}

/** Data that a later version has changed. */
async function versionFindings(name: string, reading: Reading): Promise<Finding[]> {
  const rows = await reading.rows('select * from schema_migrations').catch((): Row[] => [])
  const newer = rows.map(({ version }) => version).filter((version) => isNewer(version))
  if (newer.length === 0) return []
  return [
    {
      check: 'upgrade',
      status: 'fail',
      seen: `${name}: the data is of Plinth ${newer.sort().at(-1)}, and this is ${VERSION}`,
      expected: 'a version at least as new as the data',
      why: 'an older version would not know what it reads, and refuses to start',
      fix: `install ${newer.sort().at(-1)}, or restore the copy made before the update`,
    },
  ]
}

function isNewer(version: string | null | undefined): boolean {
  if (!version) return false
  return version.localeCompare(VERSION, 'en', { numeric: true }) > 0
}

/** A sealed value names its key: another master key is told apart from a damaged value. */
async function keyFindings(
  name: string,
  reading: Reading,
  { accounts }: Config,
  prefix: string,
): Promise<Finding[]> {
  const read = 'select sealed_private_key as sealed from signing_keys'
  const [row] = accounts ? await reading.rows(read).catch((): Row[] => []) : []
  if (!accounts || !row) return []
  try {
    openText(accounts.masterKey, row.sealed ?? '', '')
  } catch (error) {
    const { message } = error as Error
    if (!message.startsWith('Sealed with key')) return []
    return [
      {
        check: 'keys',
        status: 'fail',
        seen: `${name}: ${message}`,
        expected: 'the key that the data was sealed with',
        why: 'with another one the service does not start, and no signing key can be used',
        fix: `${prefix}MASTER_KEY_FILE=<the file with the old key> in .env`,
      },
    ]
  }
  return []
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

export const storeChecks: Check[] = [database, conveniences]
