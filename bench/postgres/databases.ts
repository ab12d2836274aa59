import pg from 'pg'
import { startPostgres } from '../../packages/kit/testing/databases/postgres.ts'

/** Makes an empty database, and gives its address. */
export type DatabaseNamed = (name: string) => Promise<string>

/** A PostgreSQL server of its own for all rows, with what it writes durable. */
export async function withDatabases<T>(
  work: (databaseNamed: DatabaseNamed) => Promise<T>,
): Promise<T> {
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
