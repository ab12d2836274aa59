import pg from 'pg'
import { startPostgres } from '../../packages/kit/testing/databases/postgres.ts'
import type { Part, Row } from '../harness/row.ts'

/** Creates an empty database and returns its URL. */
export type DatabaseNamed = (name: string) => Promise<string>

type Rows = (databaseNamed: DatabaseNamed, folder: string) => Promise<Row[]>

/** A part with its own PostgreSQL server, which writes durably. */
export function onPostgres(rows: Rows): Part {
  return (folder) => withDatabases((databaseNamed) => rows(databaseNamed, folder))
}

async function withDatabases<T>(work: (databaseNamed: DatabaseNamed) => Promise<T>): Promise<T> {
  const server = await startPostgres()
  const databaseNamed = async (name: string) => {
    const admin = new pg.Client(server.url)
    await admin.connect()
    await admin.query(`create database ${name}`)
    await admin.end()
    return Object.assign(new URL(server.url), { pathname: name }).href
  }
  try {
    return await work(databaseNamed)
  } finally {
    await server.stop()
  }
}
