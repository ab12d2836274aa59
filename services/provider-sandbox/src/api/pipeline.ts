import { type Answer, errorAnswer, jsonOf } from '../protocol/answer.ts'
import { ProviderError, unknownUrl } from '../protocol/errors.ts'
import type { Form } from '../protocol/form.ts'
import type { Operation } from '../protocol/operations.ts'
import { runTimers } from '../resources/timers.ts'
import { change, type Sandbox } from '../state/sandbox.ts'
import { authenticate } from './authentication.ts'
import { expandPaths, readExpand } from './expand.ts'
import type { HeldCalls } from './faults/held-calls.ts'
import {
  drawFault,
  refusalToKeep,
  type Struck,
  strikeInside,
  strikeOutside,
} from './faults/strike.ts'
import { answerOnce, fingerprintOf, type Keep, type KeysInUse } from './idempotency.ts'
import { insertRequest } from './requests.repository.ts'

export type Api = { sandbox: Sandbox; held: HeldCalls; keysInUse: KeysInUse }

export type IncomingCall = {
  requestId: string
  /** Where the call can be looked up; errors name it. */
  requestLogUrl: string
  method: string
  /** The route as faults name it: `POST /v1/refunds/:id/cancel`. */
  route: string
  /** As it was sent, with the query. */
  url: string
  path: string
  id: string
  authorization: string | undefined
  idempotencyKey: string | undefined
  readForm: () => Form
  hungUp: AbortSignal
}

/**
 * Answers one call and logs it. The order is: authentication, `before` faults, the form, the idempotency
 * key, the effect with its events in one transaction, `after` faults. Without an operation the path or its
 * method is unknown; the provider says so even to callers without an API key.
 */
export async function answerCall(api: Api, call: IncomingCall, operation?: Operation) {
  const { sandbox, held } = api
  const struck: Struck = { fault: undefined, held, hungUp: call.hungUp }
  const answer = await refusalsAnswered(call, async () => {
    if (operation) authenticate(call.authorization, sandbox.config)
    await runTimers(sandbox)
    struck.fault = await drawFault(sandbox, call.route)
    return strikeOutside(struck, async () => {
      if (!operation) throw unknownUrl(call.method, call.path)
      return workOnce(api, call, operation, struck)
    })
  })
  await insertRequest(sandbox.db, {
    id: call.requestId,
    at: sandbox.clock().toISOString(),
    method: call.method,
    path: call.url,
    idempotencyKey: call.idempotencyKey ?? null,
    status: answer.cut === 'reset' ? 0 : answer.status,
    replayed: answer.headers?.['idempotent-replayed'] !== undefined,
    fault: struck.fault?.kind ?? null,
  })
  return answer
}

async function refusalsAnswered(
  { requestLogUrl }: IncomingCall,
  work: () => Promise<Answer>,
  keep: (answer: Answer) => Promise<void> = async () => {},
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    const answer = errorAnswer(error, requestLogUrl)
    if (!error.facts.transient) await keep(answer)
    return answer
  }
}

function workOnce(
  { sandbox, keysInUse }: Api,
  call: IncomingCall,
  operation: Operation,
  struck: Struck,
): Promise<Answer> {
  const form = call.readForm()
  const work = (keep: Keep) => perform(sandbox, struck, { ...call, form }, operation, keep)
  const { idempotencyKey: key, requestId, method, path } = call
  if (key === undefined || method !== 'POST') return work(async () => {})
  const fingerprint = fingerprintOf(method, path, form)
  return answerOnce(sandbox, keysInUse, { key, fingerprint, requestId }, work)
}

type ReadCall = IncomingCall & { form: Form }

function perform(
  sandbox: Sandbox,
  struck: Struck,
  call: ReadCall,
  operation: Operation,
  keep: Keep,
): Promise<Answer> {
  const work = async () => {
    await operation.before?.(sandbox, call)
    return change(sandbox, async (inside) => {
      const body = jsonOf(await effect(inside, call, operation))
      const refusal = refusalToKeep(struck)
      const answer = refusal ? errorAnswer(refusal, call.requestLogUrl) : { status: 200, body }
      await keep(inside.db, answer)
      return answer
    })
  }
  return refusalsAnswered(
    call,
    () => strikeInside(struck, work),
    (refusal) => keep(sandbox.db, refusal),
  )
}

async function effect(sandbox: Sandbox, call: ReadCall, operation: Operation): Promise<object> {
  const { expand, ...form } = call.form
  const paths = readExpand(expand)
  const request = { id: call.requestId, idempotency_key: call.idempotencyKey ?? null }
  const { id, path } = call
  return expandPaths(sandbox, await operation({ ...sandbox, request }, { id, form, path }), paths)
}
