import { AbortedTransactionError, type CompiledQuery, type QueryResult } from 'kysely'
import type { QueryConfig } from 'pg'
import { Last, type Run, untilEnded } from '../engine.ts'
import { isPrepared } from '../prepared.ts'
import type { PostgresPool } from './pool.ts'
import type { Statements } from './statements.ts'

/** A patient transaction waits for its statements however long they take. */
export type Patience = { isPatient?: boolean }

type Means = Patience & { pool: PostgresPool; statements: Statements }

/**
 * A transaction on a connection of its own. Its round trips are those that `work` waits for: `begin`
 * goes out with the first statement, a prepared statement that returns no rows is not waited for, and
 * what was not waited for shares a round trip with the commit.
 */
export async function inOneTransaction<R>(
  { pool, statements, isPatient = false }: Means,
  work: (run: Run) => Promise<R | Last<R>>,
): Promise<R> {
  const client = await pool.connect()
  const answerMs = isPatient ? undefined : pool.answerMs
  const { run, send, rethrow } = pipelineOn((query) => statements.send(client, query, answerMs))
  const bounded = (text: string) => ({ text, query_timeout: answerMs }) as QueryConfig
  const own = untilEnded(run)
  let isUsable = true
  try {
    send(client.query(bounded(pool.begin)))
    const result = await work(own.run)
    own.end()
    const { command } = await send(client.query(bounded('commit')))
    // After a statement that failed PostgreSQL answers a commit with a rollback.
    if (command !== 'COMMIT') rethrow(new AbortedTransactionError())
    return result instanceof Last ? await result.answer : result
  } catch (error) {
    own.end()
    // What failed first is the cause; on a lost connection this fails, too.
    isUsable = await client.query(bounded('rollback')).then(
      () => true,
      () => false,
    )
    throw error
  } finally {
    client.release(!isUsable)
  }
}

/** After the first failure every other statement fails because of it, and says so. */
function pipelineOn(sendStatement: Run) {
  let first: { error: unknown } | undefined
  const rethrow = (error: unknown): never => {
    first ??= { error }
    throw first.error
  }
  const send = <T>(sending: Promise<T>): Promise<T> => {
    const answer = sending.catch(rethrow)
    // The commit fails as well, so that not every statement has to be waited for.
    answer.catch(() => {})
    return answer
  }
  const run = async (query: CompiledQuery): Promise<QueryResult<unknown>> => {
    const answer = send(sendStatement(query))
    return isPrepared(query) && query.isSilent ? { rows: [] } : answer
  }
  return { run, send, rethrow }
}
