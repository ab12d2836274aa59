import { createHash } from 'node:crypto'
import { secondsAfter } from '@plinth/kit'
import type { Answer } from '../protocol/answer.ts'
import { ProviderError } from '../protocol/errors.ts'
import type { Form } from '../protocol/form.ts'
import type { Sandbox } from '../state/sandbox.ts'
import { claimKey, deleteKey, findKey, updateKey } from './idempotency.repository.ts'

const KEPT_SECONDS = 24 * 60 * 60

const LONGEST_KEY = 255

/** Keeps the answer in the transaction of the work it answers. */
export type Remember = (sandbox: Sandbox, answer: Answer) => Promise<void>

type KeyedCall = { key: string; fingerprint: string; requestId: string }

/**
 * Does the work once for each key. Later calls with the key get the very same answer, whatever it
 * was; while the first call is under way, and for other parameters, they are refused.
 */
export async function answerOnce(
  sandbox: Sandbox,
  { key, fingerprint, requestId }: KeyedCall,
  work: (remember: Remember) => Promise<Answer>,
): Promise<Answer> {
  if (key.length > LONGEST_KEY) throw keyTooLong()
  const now = sandbox.clock()
  const expiresAt = secondsAfter(now, KEPT_SECONDS)
  if (!(await claimKey(sandbox.db, { key, fingerprint, expiresAt, requestId, now })))
    return replay(sandbox, key, fingerprint)

  let kept = false
  try {
    return await work(async ({ db }, answer) => {
      await updateKey(db, key, answer)
      kept = true
    })
  } finally {
    if (!kept) await deleteKey(sandbox.db, key)
  }
}

async function replay(sandbox: Sandbox, key: string, fingerprint: string): Promise<Answer> {
  const first = await findKey(sandbox.db, key)
  if (first && first.fingerprint !== fingerprint) throw keyReused(key)
  if (first?.status == null || first.body === null) throw keyInUse(key)
  const headers = {
    'idempotent-replayed': 'true',
    'original-request': first.request_id,
    ...(first.status >= 500 && { 'stripe-should-retry': 'false' }),
  }
  return { status: first.status, body: first.body, headers }
}

/** The same endpoint with the same parameters, in whatever order they came. */
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

const keyTooLong = () =>
  new ProviderError({
    status: 400,
    message: `Idempotency keys can be at most ${LONGEST_KEY} characters long.`,
  })

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
  })
