import { type Answer, errorAnswer, jsonOf } from '../protocol/answer.ts'
import { ProviderError } from '../protocol/errors.ts'
import type { Form } from '../protocol/form.ts'
import type { Operation } from '../protocol/operation.ts'
import { runTimers } from '../resources/timers.ts'
import { change, type Sandbox } from '../state/sandbox.ts'
import { authenticate } from './authentication.ts'
import { expandPaths, readExpand } from './expand.ts'
import type { Fault } from './faults/fault.ts'
import type { HeldCalls } from './faults/held-calls.ts'
import {
  drawFault,
  refusalAfter,
  type Struck,
  strikeAfter,
  strikeBefore,
  strikeDuring,
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

/** Answers one call and logs it, whatever becomes of it. */
export async function answerCall(
  api: Api,
  call: IncomingCall,
  operation: Operation,
): Promise<Answer> {
  const { answer, fault } = await answerWithFaults(api, call, operation)
  const { sandbox } = api
  await insertRequest(sandbox.db, {
    id: call.requestId,
    at: sandbox.clock().toISOString(),
    method: call.method,
    path: call.url,
    idempotencyKey: call.idempotencyKey ?? null,
    status: answer.cut === 'reset' ? 0 : answer.status,
    replayed: answer.headers?.['idempotent-replayed'] !== undefined,
    fault: fault?.kind ?? null,
  })
  return answer
}

/**
 * The order of things: authentication, faults before, the parameters' form, the idempotency key,
 * the effect with its events in one transaction, faults after.
 */
async function answerWithFaults(
  api: Api,
  call: IncomingCall,
  operation: Operation,
): Promise<{ answer: Answer; fault?: Fault }> {
  const { sandbox, held } = api
  let fault: Fault | undefined
  try {
    authenticate(call.authorization)
    await runTimers(sandbox)
    fault = await drawFault(sandbox, call.route)
    const struck: Struck = { fault, held, hungUp: call.hungUp }
    const early = strikeBefore(struck)
    if (early) return { answer: early, fault }
    const answer = await workOnce(api, call, operation, struck)
    return { answer: await strikeAfter(struck, answer), fault }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    return { answer: errorAnswer(error, call.requestLogUrl), fault }
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

async function perform(
  sandbox: Sandbox,
  struck: Struck,
  call: ReadCall,
  operation: Operation,
  keep: Keep,
): Promise<Answer> {
  try {
    const instead = await strikeDuring(struck)
    if (instead) return instead
    return await change(sandbox, async (inside) => {
      const body = jsonOf(await effect(inside, call, operation))
      const refusal = refusalAfter(struck)
      const answer = refusal ? errorAnswer(refusal, call.requestLogUrl) : { status: 200, body }
      await keep(inside.db, answer)
      return answer
    })
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    const answer = errorAnswer(error, call.requestLogUrl)
    if (!error.facts.unremembered) await keep(sandbox.db, answer)
    return answer
  }
}

async function effect(sandbox: Sandbox, call: ReadCall, operation: Operation): Promise<object> {
  const { expand, ...form } = call.form
  const paths = readExpand(expand)
  const request = { id: call.requestId, idempotencyKey: call.idempotencyKey ?? null }
  const { id, path } = call
  return expandPaths(sandbox, await operation({ ...sandbox, request }, { id, form, path }), paths)
}
