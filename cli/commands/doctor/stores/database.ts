import { existsSync, statSync } from 'node:fs'
import { type Applied, type Reading, readDatabase, VERSION } from '@plinth/kit/database'
import { clockFindings, type Finding, ok, skip } from '@plinth/kit/runtime'
import { loadWorkerCount } from '../../../../launcher/config.ts'
import type { Prepared } from '../../../../launcher/prepare/prepare.ts'
import { prefixOf } from '../../../../launcher/services.ts'
import { unfinished } from '../backup.ts'
import { type Check, examinedOf, type Installation, orFault } from '../installation.ts'
import { sealFindings } from './keys.ts'

const MAX_LOG_BYTES = 2 ** 30

/** The oldest version that the PostgreSQL project still maintains. */
const OLDEST_POSTGRES = 14

type Open = Reading<unknown>

/** Migrates nothing and writes nothing. */
const database: Check = async (installation) => {
  const stored = installation.prepared.filter(({ service }) => service.data.database)
  const findings = await Promise.all(stored.map((each) => databaseFindings(installation, each)))
  return findings.flat()
}

async function databaseFindings(
  installation: Installation,
  prepared: Prepared,
): Promise<Finding[]> {
  const { name } = prepared.entry
  const { url = '', setting = '' } = prepared.service.data.database ?? {}
  const file = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined
  if (file !== undefined && !existsSync(file))
    return [skip('database', `${name}: ${file} does not exist yet: the first start creates it`)]
  let reading: Open
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
    if (reading.isUnfinished)
      return [unfinished(`${name}: a restore or a move into its database has not ended`)]
    const found = [
      ...(await (file === undefined
        ? serverFindings(installation, prepared, reading)
        : fileFindings(name, reading, file))),
      ...versionFindings(prepared, reading),
      ...(await dataFindings(installation, prepared, reading)),
    ]
    const isSound = found.every(({ status }) => status === 'ok')
    const engine = file === undefined ? 'PostgreSQL' : 'SQLite'
    const sound = ok('database', `${name}: ${engine}, intact, and the keys match`)
    return isSound ? [...found, sound] : found
  } finally {
    await reading.close()
  }
}

async function fileFindings(name: string, reading: Open, file: string): Promise<Finding[]> {
  const [checked] = await reading.rows('pragma quick_check(1)')
  const findings: Finding[] = []
  if (checked?.quick_check !== 'ok')
    findings.push({
      check: 'database',
      status: 'fail',
      seen: `${name}: ${checked?.quick_check}`,
      expected: 'an intact file',
      why: 'damaged data may be misread, or lost with the next write',
      fix: `restore ${file} from a backup`,
    })
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (log > MAX_LOG_BYTES)
    findings.push({
      check: 'database',
      status: 'warn',
      seen: `${name}: the log ${file}-wal has ${Math.round(log / 2 ** 20)} MB`,
      expected: 'less than 1 GB',
      why: 'a reader that never finishes keeps it from being truncated',
      fix: 'restart the service',
    })
  return findings
}

async function serverFindings(
  installation: Installation,
  prepared: Prepared,
  reading: Open,
): Promise<Finding[]> {
  const { name } = prepared.entry
  const [about] = await reading.rows(
    `select current_setting('server_encoding') as encoding, current_setting('max_connections') as most,
      current_setting('server_version') as version, extract(epoch from clock_timestamp()) * 1000 as now,
      (select count(distinct client_addr) from pg_stat_activity
        where datname = current_database() and application_name = 'plinth') as nodes`,
  )
  const findings = clockFindings(`the database of ${name}`, Number(about?.now))
  const version = about?.version ?? ''
  if (Number.parseInt(version, 10) < OLDEST_POSTGRES)
    findings.push({
      check: 'database',
      status: 'warn',
      seen: `${name}: PostgreSQL ${version}`,
      expected: `${OLDEST_POSTGRES} or later`,
      why: 'the PostgreSQL project no longer maintains it, and Plinth is not tested with it',
      fix: 'pg_upgrade to a maintained version',
    })
  if (about?.encoding !== 'UTF8')
    findings.push({
      check: 'database',
      status: 'fail',
      seen: `${name}: the encoding is ${about?.encoding}`,
      expected: 'UTF8',
      why: 'names in other scripts cannot be stored',
      fix: `create database plinth encoding 'UTF8' template template0`,
    })
  const nodes = Math.max(1, Number(about?.nodes))
  if (findings.every(({ status }) => status === 'ok'))
    findings.push(ok('database', `${name}: PostgreSQL ${version}, nodes seen: ${about?.nodes}`))
  const server = { most: Number(about?.most), nodes }
  return [...findings, ...connectionFindings(installation, prepared, server)]
}

/** Counts all services that share the server, on every connected node and on one more during a rolling update. */
function connectionFindings(
  { env, prepared: all }: Installation,
  prepared: Prepared,
  { most, nodes }: { most: number; nodes: number },
): Finding[] {
  const server = hostOf(prepared)
  const sharing = all.filter((each) => hostOf(each) === server)
  const pools = sharing.reduce(
    (sum, { service }) => sum + (service.config.database?.poolSize ?? 0),
    0,
  )
  const processes = loadWorkerCount(env) * (nodes + 1)
  const needed = pools * processes
  if (sharing[0] !== prepared || needed <= most) return []
  const share = Math.max(1, Math.floor(most / processes / sharing.length))
  return [
    {
      check: 'database',
      status: 'warn',
      seen: `${server}: nodes seen: ${nodes}; with one more they may use ${needed} of ${most} connections`,
      expected: 'enough connections for every node, and for one more during a rolling update',
      why: 'requests that get no connection answer 503',
      fix: `${prefixOf(prepared.entry)}DATABASE_CONNECTIONS=${share} in .env, a larger max_connections, or PgBouncer`,
    },
  ]
}

function hostOf({ service }: Prepared): string | undefined {
  const url = service.data.database?.url ?? ''
  return url.startsWith('postgres') ? new URL(url).host : undefined
}

function isCurrent({ service }: Prepared, applied: Applied[]): boolean {
  const known = service.data.database?.migrations ?? []
  return known.every((one) => applied.some(({ name }) => name === one.name))
}

/** Data that a later version has migrated, or that this one will migrate when it starts. */
function versionFindings(prepared: Prepared, { applied }: Open): Finding[] {
  const { name } = prepared.entry
  const newer = applied.flatMap(({ version }) => (isNewer(version) ? [version] : []))
  if (newer.length === 0)
    return isCurrent(prepared, applied)
      ? []
      : [ok('upgrade', `${name}: the next start changes the schema: plinth migrate --plan`)]
  return [
    {
      check: 'upgrade',
      status: 'fail',
      seen: `${name}: the data is from Plinth ${newer.sort().at(-1)}, but this is ${VERSION}`,
      expected: 'a version at least as new as the data',
      why: 'an older version cannot understand the data and refuses to start',
      fix: `install ${newer.sort().at(-1)}, or restore the copy made before the update`,
    },
  ]
}

function isNewer(version: string | null | undefined): boolean {
  if (!version) return false
  return version.localeCompare(VERSION, 'en', { numeric: true }) > 0
}

/**
 * What is stored. A check may fail on data that an older version has written, because its tables differ: that is no
 * fault. Otherwise it is one.
 */
async function dataFindings(
  installation: Installation,
  prepared: Prepared,
  { applied, rows }: Open,
): Promise<Finding[]> {
  if (applied.length === 0) return []
  const { name } = prepared.entry
  const examined = examinedOf(installation, prepared)
  const { dataChecks } = prepared.service
  const run = (check: string, work: () => Promise<Finding[]>) =>
    isCurrent(prepared, applied)
      ? orFault(check, work, `${name}: `)
      : work().catch(({ message }: Error) => [skip(check, `${name}, until it starts: ${message}`)])
  const findings = [
    run('keys', () => sealFindings(prepared, rows)),
    ...Object.entries(dataChecks).map(([check, work]) => run(check, () => work(examined))),
  ]
  return (await Promise.all(findings)).flat()
}

export const databaseChecks: Check[] = [database]
