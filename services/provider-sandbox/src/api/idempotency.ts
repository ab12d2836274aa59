import { createHash } from 'node:crypto'
import { DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import type { Answer } from '../protocol/answer.ts'
import { ProviderError, requestRefused } from '../protocol/errors.ts'
import type { Form } from '../protocol/form.ts'
import type { Sandbox } from '../state/sandbox.ts'
import type { SandboxDb } from '../state/tables.ts'
import { findKey, insertKey } from './idempotency.repository.ts'

const KEPT_SECONDS = DAY_SECONDS
const MAX_KEY = 255

/** The fingerprint of the call in progress for each key. In memory, as the sandbox is one process. */
export type KeysInUse = Map<string, string>

/** Stores the answer for later calls, in the transaction of the work it answers. */
export type Keep = (db: SandboxDb, answer: Answer) => Promise<void>

type KeyedCall = { key: string; fingerprint: string; requestId: string }

/**
 * Does the work once for each key. Later calls with the key get the same answer; they are refused while
 * the first is in progress, or if their parameters differ. Work that fails stores nothing, so the key is
 * free again. The insert decides between two calls that both found no answer.
 */
export async function answerOnce(
  sandbox: Sandbox,
  inUse: KeysInUse,
  { key, fingerprint, requestId }: KeyedCall,
  work: (keep: Keep) => Promise<Answer>,
): Promise<Answer> {
  if (key.length > MAX_KEY)
    throw requestRefused(`Idempotency keys can be at most ${MAX_KEY} characters long.`)
  const now = sandbox.clock()
  const first = await findKey(sandbox.db, key, now)
  const present = first?.fingerprint ?? inUse.get(key)
  if (present !== undefined && present !== fingerprint) throw keyReused(key)
  if (first) return replay(first, first.request_id)
  if (present !== undefined) throw keyInUse(key)

  const expires_at = secondsAfter(now, KEPT_SECONDS).toISOString()
  inUse.set(key, fingerprint)
  try {
    return await work(async (db, { status, body }) => {
      const kept = { fingerprint, status, body, request_id: requestId, expires_at }
      if (!(await insertKey(db, key, kept, now))) throw keyInUse(key)
    })
  } finally {
    inUse.delete(key)
  }
}

function replay({ status, body }: Answer, firstRequestId: string): Answer {
  const headers = {
    'idempotent-replayed': 'true',
    'original-request': firstRequestId,
    ...(status >= 500 && { 'stripe-should-retry': 'false' }),
  }
  return { status, body, headers }
}

/** Equal for calls of one endpoint with the same parameters in any order. */
export function fingerprintOf(method: string, path: string, form: Form): string {
  return createHash('sha256')
    .update(`${method} ${path} ${canonical(form)}`)
    .digest('hex')
}

function canonical(value: Form | string): string {
  if (typeof value === 'string') return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, entry]) => `${JSON.stringify(name)}:${canonical(entry)}`)}}`
}

const keyReused = (key: string) =>
  new ProviderError({
    status: 400,
    type: 'idempotency_error',
    message: `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
  })

export const keyInUse = (key: string) =>
  new ProviderError({
    status: 409,
    type: 'idempotency_error',
    code: 'idempotency_key_in_use',
    message: `There is currently another in-progress request using this idempotency key (that probably means you submitted twice, and the other request is still going through): ${key}. Please try again later.`,
    transient: true,
  })
