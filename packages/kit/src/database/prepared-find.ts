import type { Compilable } from 'kysely'
import type { Db } from './open.ts'
import { prepared } from './prepared.ts'
import { isBusy } from './sqlite.ts'
import { readerOf } from './sqlite-reader.ts'

/**
 * A look-up of one row by one key that many requests make. Its text is built once, and on SQLite it
 * is answered by a connection that only reads: it sees all that was committed when it was asked, and
 * nothing of a transaction that is still open. Given a transaction, it is part of that one.
 *
 * No named statement on PostgreSQL: once another node's migration has added a column, one that
 * selects all of them fails on every connection that knows it.
 */
export function preparedFind<T, K, R>(
  build: (db: Db<T>, key: K) => Compilable<R>,
): (db: Db<T>, key: K) => Promise<R | undefined> {
  const rows = prepared((db: Db<T>, { key }: { key: K }) => build(db, key))
  const first = async (db: Db<T>, key: K) => (await rows(db, { key }))[0]
  let text: string | undefined
  return (db, key) => {
    const reader = readerOf(db)
    if (!reader) return first(db, key)
    text ??= textOf(build(db, key))
    return reader.get(text, key).catch((error) => {
      if (isBusy(error)) return first(db, key)
      throw error
    }) as Promise<R | undefined>
  }
}

function textOf<R>(query: Compilable<R>): string {
  const { sql, parameters } = query.compile()
  if (parameters.length !== 1) throw new Error(`Not one parameter but others: ${sql}`)
  return sql
}
