import { setTimeout as delay } from 'node:timers/promises'
import { type Answer, brokenAnswer, errorAnswer } from '../../protocol/answer.ts'
import { ProviderError } from '../../protocol/errors.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { nextNumber, seededFraction } from '../../state/values.repository.ts'
import { unauthorized } from '../authentication.ts'
import { keyInUse } from '../idempotency.ts'
import type { Fault } from './fault.ts'
import { listFaults, spendFault } from './faults.repository.ts'
import type { HeldCalls } from './held-calls.ts'

/** The first fault that strikes this call, if any does. */
export async function drawFault(sandbox: Sandbox, route: string): Promise<Fault | undefined> {
  const [method = ''] = route.split(' ')
  for (const fault of await listFaults(sandbox.db, [route, `${method} *`, '*']))
    if ((await strikes(sandbox, fault)) && (await spendFault(sandbox.db, fault))) return fault
  return undefined
}

async function strikes(sandbox: Sandbox, { probability }: Fault): Promise<boolean> {
  if (probability >= 1) return true
  const draw = await nextNumber(sandbox.db, 'fault-draws')
  return seededFraction(sandbox.config.seed, `fault:${draw}`) < probability
}

export type Struck = {
  fault: Fault | undefined
  held: HeldCalls
  hungUp: AbortSignal
  requestLogUrl: string
}

const NOTHING: Answer = { status: 0, body: '', cut: 'reset' }

const PROXY_PAGE = '<!doctype html><title>Bad gateway</title><h1>Bad gateway</h1>\n'

const page = (status: number): Answer => ({
  status,
  body: PROXY_PAGE,
  headers: { 'content-type': 'text/html' },
})

/** Faults that answer before anything is looked at. */
export function strikeBefore({ fault, requestLogUrl }: Struck): Answer | undefined {
  const refuse = (error: ProviderError) => errorAnswer(error, requestLogUrl)
  switch (fault?.kind) {
    case 'reset-before':
    case 'outage':
      return NOTHING
    case 'error-before':
      return brokenAnswer(requestLogUrl)
    case 'html-before':
      return page(502)
    case 'in-use':
      return refuse(keyInUse('(the sandbox was told so)'))
    case 'unauthorized':
      return refuse(unauthorized('Invalid API Key provided (the sandbox was told so).'))
    case 'forbidden':
      return refuse(forbidden())
    case 'rate-limit':
      return refuse(rateLimited(fault.retryAfterSeconds))
    default:
      return undefined
  }
}

/** Faults that strike while the call holds its key. */
export async function strikeDuring({ fault, held, hungUp, requestLogUrl }: Struck) {
  if (fault?.kind === 'latency') await delay(fault.delayMs ?? 1000)
  if (fault?.kind === 'error-instead')
    return { answer: frozen(brokenAnswer(requestLogUrl)), remembered: true }
  if (fault?.kind !== 'hang') return undefined
  await held.hold(hungUp, fault.delayMs)
  return { answer: NOTHING, remembered: false }
}

/** What the key is to remember instead of the true answer. */
export function answerToRemember({ fault, requestLogUrl }: Struck, answer: Answer): Answer {
  return fault?.kind === 'error-after' ? frozen(brokenAnswer(requestLogUrl)) : answer
}

/** Faults that strike when the effect is there and only the answer is left. */
export async function strikeAfter(struck: Struck, answer: Answer): Promise<Answer> {
  const { fault, held, hungUp } = struck
  switch (fault?.kind) {
    case 'hold':
      await held.hold(hungUp, fault.delayMs)
      return answer
    case 'reset-after':
      return { ...answer, cut: 'reset' }
    case 'truncated':
      return { ...answer, cut: 'truncated' }
    case 'html-after':
      return page(200)
    default:
      return answer
  }
}

// A remembered failure would only be replayed: the provider tells its clients not to try again.
const frozen = (answer: Answer): Answer => ({
  ...answer,
  headers: { 'stripe-should-retry': 'false' },
})

const forbidden = () =>
  new ProviderError({
    status: 403,
    message: 'The provided key does not have the required permissions for this endpoint.',
  })

const rateLimited = (retryAfterSeconds: number) =>
  new ProviderError({
    status: 429,
    code: 'rate_limit',
    message: 'Request rate limit exceeded.',
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
