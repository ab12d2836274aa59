import { setImmediate } from 'node:timers/promises'
import { type Kysely, sql, type Transaction } from 'kysely'
import { inSqliteTransaction } from './direct.ts'

type Member = {
  work(db: unknown): Promise<unknown>
  resolve(result: unknown): void
  reject(error: unknown): void
}

const MOST_MEMBERS = 32

const queues = new WeakMap<object, Member[]>()

/**
 * Transactions that wait for each other anyway, because SQLite has one writer, are committed
 * together, and nobody hears of success before the one commit, and its one sync of the disk, has
 * been made. When one of them throws, all are taken back and run again, each in a savepoint of its
 * own, so that one that throws takes back only itself. Savepoints copy every page they touch, so
 * they are kept for that rare case.
 */
export function inGroup<T, R>(db: Kysely<T>, work: (db: Kysely<T>) => Promise<R>): Promise<R> {
  const { promise, resolve, reject } = Promise.withResolvers<R>()
  const member = { work, resolve, reject } as unknown as Member
  const waiting = queues.get(db)
  if (waiting) waiting.push(member)
  else void commitAll(db, [member])
  return promise
}

async function commitAll<T>(db: Kysely<T>, queue: Member[]): Promise<void> {
  queues.set(db, queue)
  while (queue.length > 0) await commitTogether(db, queue)
  queues.delete(db)
}

async function commitTogether<T>(db: Kysely<T>, queue: Member[]): Promise<void> {
  const group: Member[] = []
  const results: unknown[] = []
  let allDone = false
  try {
    await inSqliteTransaction(db, async (transaction) => {
      for (let next = queue.shift(); next; next = await nextMember(queue, group.length)) {
        group.push(next)
        results.push(await next.work(transaction))
      }
      allDone = true
    })
    for (const [index, member] of group.entries()) member.resolve(results[index])
  } catch (error) {
    if (group.length > 1 && !allDone) return commitApart(db, group)
    if (group.length === 0) group.push(...queue.splice(0))
    for (const member of group) member.reject(error)
  }
}

/** Nothing waits on SQLite, so requests that have arrived meanwhile need a turn to get in line. */
async function nextMember(queue: Member[], count: number): Promise<Member | undefined> {
  if (count === MOST_MEMBERS) return undefined
  if (queue.length === 0) await setImmediate()
  return queue.shift()
}

async function commitApart<T>(db: Kysely<T>, group: Member[]): Promise<void> {
  const outcomes: (() => void)[] = []
  try {
    await inSqliteTransaction(db, async (transaction) => {
      for (const member of group) outcomes.push(await runMember(transaction, member))
    })
  } catch (error) {
    for (const member of group) member.reject(error)
    return
  }
  for (const tell of outcomes) tell()
}

async function runMember<T>(transaction: Transaction<T>, member: Member): Promise<() => void> {
  await sql`savepoint member`.execute(transaction)
  try {
    const result = await member.work(transaction)
    await sql`release member`.execute(transaction)
    return () => member.resolve(result)
  } catch (error) {
    await sql`rollback to member`.execute(transaction)
    await sql`release member`.execute(transaction)
    return () => member.reject(error)
  }
}
