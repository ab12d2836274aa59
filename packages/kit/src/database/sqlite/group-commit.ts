import { setImmediate } from 'node:timers/promises'
import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import { currentTrace, inTrace } from '../../tracing/trace-context.ts'
import { type Run, untilEnded } from '../engine.ts'
import type { RunStatement } from './file.ts'
import type { Writer } from './writer.ts'

type Work<T, R> = (db: Kysely<T>) => Promise<R>

type DbFor = <T>(run: Run) => Transaction<T>

export type InGroup = <T, R>(work: Work<T, R>) => Promise<R>

type Member = {
  work(run: Run): Promise<unknown>
  resolve(result: unknown): void
  reject(error: unknown): void
}

/**
 * Group commit. SQLite has one writer, so transactions wait for each other anyway: they are committed
 * together, with one disk sync, and none succeeds before that commit. Each runs in a savepoint of its
 * own, so one that throws undoes only itself.
 */
export function groupCommit(writer: Writer, dbFor: DbFor): InGroup {
  const queue: Member[] = []
  let committing = false
  const commitAll = async () => {
    committing = true
    while (queue.length > 0) await commitTogether(writer, queue)
    committing = false
  }
  return <T, R>(work: Work<T, R>) => {
    const { promise, resolve, reject } = Promise.withResolvers<R>()
    // The group runs in the context of whichever member came first, so restore each member's own trace.
    const trace = currentTrace()
    const member = { work: (run: Run) => inTrace(trace, () => work(dbFor(run))), resolve, reject }
    queue.push(member as Member)
    if (!committing) void commitAll()
    return promise
  }
}

async function commitTogether(writer: Writer, queue: Member[]): Promise<void> {
  const group: Member[] = []
  const outcomes: (() => void)[] = []
  try {
    await writer.transaction(async (run) => {
      for (let next = queue.shift(); next; next = await nextMember(queue, group.length)) {
        group.push(next)
        outcomes.push(await runMember(run, next))
      }
    })
  } catch (error) {
    const failed = group.length > 0 ? group : queue.splice(0)
    for (const member of failed) member.reject(error)
    return
  }
  for (const settle of outcomes) settle()
}

const MAX_MEMBERS = 32

/** SQLite is synchronous, so requests that arrived meanwhile need a turn of the event loop to join the queue. */
async function nextMember(queue: Member[], count: number): Promise<Member | undefined> {
  if (count === MAX_MEMBERS) return undefined
  if (queue.length === 0) await setImmediate()
  return queue.shift()
}

const SAVEPOINT = CompiledQuery.raw('savepoint member')
const UNDO = CompiledQuery.raw('rollback to member')
const RELEASE = CompiledQuery.raw('release member')

async function runMember(run: RunStatement, member: Member): Promise<() => void> {
  const own = untilEnded(run)
  run(SAVEPOINT)
  try {
    const result = await member.work(own.run)
    run(RELEASE)
    return () => member.resolve(result)
  } catch (error) {
    undo(run, error)
    return () => member.reject(error)
  } finally {
    own.end()
  }
}

function undo(run: RunStatement, cause: unknown): void {
  try {
    run(UNDO)
    run(RELEASE)
  } catch {
    // The whole transaction is gone, as on a full disk; the original error says why.
    throw cause
  }
}
