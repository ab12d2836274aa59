import { drawFault } from '../faults/draw-fault.ts'
import type { Fault } from '../faults/fault.ts'
import {
  answerToRemember,
  type Struck,
  strikeAfter,
  strikeBefore,
  strikeDuring,
} from '../faults/fault-answers.ts'
import type { HeldCalls } from '../faults/held-calls.ts'
import { change, type Sandbox } from '../sandbox.ts'
import { runTimers } from '../time/due.ts'
import { type Answer, errorAnswer, jsonOf } from './answer.ts'
import { authenticate } from './authentication.ts'
import { expandPaths } from './expand.ts'
import type { Form } from './form.ts'
import { answerOnce, fingerprintOf, type Remember } from './idempotency.ts'
import type { Operation } from './operation.ts'
import { list, required, text } from './parameters.ts'
import { ProviderError } from './provider-errors.ts'

export type IncomingCall = {
  requestId: string
  method: string
  /** The route as faults name it: `POST /v1/refunds/:id/cancel`. */
  route: string
  path: string
  id: string
  authorization: string | undefined
  idempotencyKey: string | undefined
  readForm: () => Form
  hungUp: AbortSignal
}

type AnsweredCall = { answer: Answer; fault: string | null }

const readExpand = list(required(text()), 100)

/**
 * The way of every call: authentication, faults before, the idempotency key, the parameters, the
 * effect with its events in one transaction, faults after.
 */
export async function answerCall(
  sandbox: Sandbox,
  held: HeldCalls,
  call: IncomingCall,
  operation: Operation,
): Promise<AnsweredCall> {
  const requestLogUrl = `${sandbox.publicUrl()}/sandbox#${call.requestId}`
  let fault: Fault | undefined
  const answer = await refusalsAnswered(requestLogUrl, async () => {
    authenticate(call.authorization)
    await runTimers(sandbox)
    fault = await drawFault(sandbox, call.route)
    const struck: Struck = { fault, held, hungUp: call.hungUp, requestLogUrl }
    const early = strikeBefore(struck)
    if (early) return early
    const form = call.readForm()
    const work = (remember: Remember) =>
      perform(sandbox, struck, { ...call, form }, operation, remember)
    const key = call.method === 'POST' ? call.idempotencyKey : undefined
    const { requestId, method, path } = call
    const done = key
      ? await answerOnce(
          sandbox,
          { key, fingerprint: fingerprintOf(method, path, form), requestId },
          work,
        )
      : await work(async () => {})
    return strikeAfter(struck, done)
  })
  return { answer, fault: fault?.kind ?? null }
}

async function refusalsAnswered(
  requestLogUrl: string,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ProviderError) return errorAnswer(error, requestLogUrl)
    throw error
  }
}

type ReadCall = IncomingCall & { form: Form }

async function perform(
  sandbox: Sandbox,
  struck: Struck,
  call: ReadCall,
  operation: Operation,
  remember: Remember,
): Promise<Answer> {
  const during = await strikeDuring(struck)
  if (during?.remembered) await remember(sandbox, during.answer)
  if (during) return during.answer
  try {
    return await change(sandbox, async (inside) => {
      const body = jsonOf(await effect(inside, call, operation))
      const answer = answerToRemember(struck, { status: 200, body })
      await remember(inside, answer)
      return answer
    })
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    const answer = errorAnswer(error, struck.requestLogUrl)
    if (!error.facts.unremembered) await remember(sandbox, answer)
    return answer
  }
}

async function effect(sandbox: Sandbox, call: ReadCall, operation: Operation): Promise<object> {
  const { expand, ...form } = call.form
  const paths = readExpand(expand, 'expand') ?? []
  const request = { id: call.requestId, idempotencyKey: call.idempotencyKey ?? null }
  const { id, path } = call
  const object = await operation({ ...sandbox, request }, { id, form, path })
  return paths.length === 0 ? object : expandPaths(sandbox, object, paths)
}
