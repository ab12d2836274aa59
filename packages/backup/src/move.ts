import { VERSION } from '@plinth/kit/database'
import { failPoint } from '@plinth/kit/runtime'
import type { Show } from './archive/read.ts'
import { mark, release, requireKnown, startFilling } from './databases/fill.ts'
import { openConnection, openSnapshots, requireUnused } from './databases/open.ts'
import { createSum, streamRows, sumOf, type TableSum } from './databases/rows.repository.ts'
import { contentsOf, listTextLimits } from './databases/schema.repository.ts'
import type { Connection, Contents, Row, Table } from './databases/tables.ts'
import { BackupError, orDiskFault } from './faults.ts'
import { isUnfinished, type Place, placesOf } from './restore/place.ts'
import type { ServiceData } from './sources/service-data.ts'

type Database = NonNullable<ServiceData['database']>

type MovedTable = { table: string } & TableSum

/**
 * Copies the database of a stopped service to a target of either engine. The source is not written to;
 * the target carries the restore mark until both sides have proved equal.
 */
export function moveDatabase(
  service: ServiceData,
  to: string,
  show: Show = () => {},
): Promise<MovedTable[]> {
  return withSource(service, to, async (source, contents, target) => {
    const moved = await copy(source, contents, target, show)
    await compare(target, contents.tables, moved)
    failPoint('move:compared')
    if (target.derived) await target.afterRestore?.(to, { keepSessions: true })
    await release(target)
    return moved
  })
}

/** Checks whether a move would succeed, down to each text. Leaves nothing at the target. */
export function checkMove(service: ServiceData, to: string): Promise<MovedTable[]> {
  return withSource(service, to, async (source, contents, target, place) => {
    await mark(target)
    const filling = await startFilling(target, contents)
    try {
      await requireFitting(source, filling.connection, contents.tables)
    } finally {
      await filling.close()
    }
    const tables: MovedTable[] = []
    for (const table of contents.tables)
      tables.push({ table: table.name, ...(await sumOf(source, table)) })
    await place.clear()
    return tables
  })
}

type Work = (
  source: Connection,
  contents: Contents,
  target: Database,
  place: Place,
) => Promise<MovedTable[]>

/** Runs `work` with a snapshot of the source and an empty target, which is cleared if it fails. */
async function withSource(
  { name, database }: ServiceData,
  to: string,
  work: Work,
): Promise<MovedTable[]> {
  if (!database) throw new BackupError('refused', `${name} has no database.`)
  const target: Database = { ...database, url: to }
  const place = await prepareTarget(name, database, target)
  const { snapshots, close } = await openSnapshots([database.url])
  const [source] = snapshots as [(typeof snapshots)[0]]
  try {
    // A service started now waits for this lock and gives up.
    await source.lock()
    const contents = await contentsOf(source, database.derived)
    const versions = { data: lastVersion(contents), code: VERSION }
    requireKnown(name, database, contents.migrations, versions)
    return await work(source, contents, target, place)
  } catch (error) {
    await place.clear()
    throw orDiskFault(error, 'The database at the target')
  } finally {
    await close()
  }
}

async function prepareTarget(name: string, from: Database, target: Database): Promise<Place> {
  if (from.url === target.url)
    throw new BackupError('refused', `The database of ${name} is there already.`)
  await requireUnused(name, from.url)
  const data = { name, database: target, keys: {} }
  const [place] = placesOf(data) as [Place]
  if (!(await place.isEmpty())) {
    // The leftovers of an interrupted move were never used by a service.
    if (!(await isUnfinished(data)))
      throw new BackupError('refused', 'There is data already at the target: choose an empty one.')
    await place.clear()
  }
  return place
}

function lastVersion({ migrations }: Contents): string {
  return String(migrations.findLast(({ version }) => version !== null)?.version ?? '1.0')
}

async function copy(
  source: Connection,
  contents: Contents,
  target: Database,
  show: Show,
): Promise<MovedTable[]> {
  await mark(target)
  failPoint('move:marked')
  const filling = await startFilling(target, contents)
  try {
    await requireFitting(source, filling.connection, contents.tables)
    const moved: MovedTable[] = []
    const total = contents.tables.reduce((sum, { rows }) => sum + rows, 0)
    let done = 0
    for (const table of contents.tables) {
      const sum = createSum()
      for await (const rows of streamRows(source, table)) {
        sum.add(rows)
        await filling.insert(table.name, rows)
        done += rows.length
        show('rows', done, total)
      }
      moved.push({ table: table.name, ...sum.value() })
      failPoint('move:table')
    }
    await filling.commit()
    failPoint('move:committed')
    return moved
  } finally {
    await filling.close()
  }
}

const MAX_REPORTED = 20

/** PostgreSQL stores no NUL in a text, and no text longer than its column. */
async function requireFitting(source: Connection, target: Connection, tables: Table[]) {
  if (target.engine === 'sqlite') return
  const faults: string[] = []
  for (const table of tables) {
    const limits = await listTextLimits(target, table)
    for await (const rows of streamRows(source, table))
      for (const row of rows)
        if (faults.length < MAX_REPORTED) faults.push(...faultsOf(table, row, limits))
  }
  if (faults.length > 0)
    throw new BackupError('refused', `PostgreSQL would reject the data: ${faults.join(', ')}.`)
}

function faultsOf({ name, columns }: Table, row: Row, limits: Map<string, number>): string[] {
  return columns.flatMap((column, index) => {
    const value = row[index]
    if (typeof value !== 'string') return []
    if (value.includes('\0')) return [`a NUL in ${name}.${column}`]
    const limit = limits.get(column) ?? Infinity
    return value.length > limit && [...value].length > limit
      ? [`more than ${limit} characters in ${name}.${column}`]
      : []
  })
}

/** Reads the columns that the source has: the target may have been given one more. */
async function compare({ url }: Database, tables: Table[], moved: MovedTable[]): Promise<void> {
  const connection = await openConnection(url)
  try {
    await connection.run('begin')
    for (const table of tables) {
      const sent = moved.find((one) => one.table === table.name)
      const arrived = await sumOf(connection, table)
      if (arrived.rows === sent?.rows && arrived.hash === sent.hash) continue
      throw new BackupError('damaged', `${table.name} differs between source and target.`)
    }
  } finally {
    await connection.close()
  }
}
