import type { Answer } from '../../protocol/answer.ts'
import { ProviderError } from '../../protocol/errors.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { seededFraction } from '../../state/seeded.ts'
import { nextNumber } from '../../state/values.repository.ts'
import { unauthorized } from '../authentication.ts'
import { keyInUse } from '../idempotency.ts'
import type { FAULT_KINDS, Fault, FaultKind } from './fault.ts'
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

/** The fault drawn for a call, and what the fault needs to act on it. */
export type Struck = { fault: Fault | undefined; held: HeldCalls; hungUp: AbortSignal }

/** Does the work or not, and returns an answer or throws a refusal. */
type Strike = (struck: Struck & { fault: Fault }, work: Work) => Promise<Answer>

type Work = () => Promise<Answer>

/** One strike for each fault kind of a stage; the compiler checks that none is missing. */
type Strikes<Stage> = Record<
  { [K in FaultKind]: (typeof FAULT_KINDS)[K]['stage'] extends Stage ? K : never }[FaultKind],
  Strike
>

/** Strikes around the whole call: before the idempotency key is read, or after the work is done. */
const OUTSIDE: Strikes<'before' | 'after'> = {
  'reset-before': async () => NO_ANSWER,
  outage: async () => NO_ANSWER,
  'html-before': async () => proxyPage(502),
  'error-before': async () => refuse(broken()),
  'in-use': async () => refuse(keyInUse('(simulated by the sandbox)')),
  unauthorized: async () =>
    refuse(unauthorized('Invalid API Key provided (simulated by the sandbox).')),
  forbidden: async () => {
    const message = 'The provided key does not have the required permissions for this endpoint.'
    throw new ProviderError({ status: 403, message })
  },
  'rate-limit': async ({ fault }) => {
    const headers = { 'retry-after': String(fault.retryAfterSeconds) }
    const message = 'Request rate limit exceeded.'
    throw new ProviderError({ status: 429, code: 'rate_limit', message, headers })
  },
  hold: async ({ fault, held, hungUp }, work) => {
    const answer = await work()
    await held.hold(hungUp, fault.delayMs)
    return answer
  },
  'reset-after': async (_struck, work) => ({ ...(await work()), cut: 'reset' }),
  truncated: async (_struck, work) => ({ ...(await work()), cut: 'truncated' }),
  'html-after': async (_struck, work) => {
    await work()
    return proxyPage(200)
  },
  // `refusalToKeep` has replaced the answer by then.
  'error-after': (_struck, work) => work(),
}

/** Strikes while the call holds its idempotency key. */
const INSIDE: Strikes<'during'> = {
  latency: async ({ fault, held }, work) => {
    await held.wait(fault.delayMs ?? 1000)
    return work()
  },
  hang: async ({ fault, held, hungUp }) => {
    await held.hold(hungUp, fault.delayMs)
    return NO_ANSWER
  },
  'error-instead': async () => refuse(frozen()),
}

export const strikeOutside = (struck: Struck, work: Work) => strike(OUTSIDE, struck, work)

export const strikeInside = (struck: Struck, work: Work) => strike(INSIDE, struck, work)

function strike(strikes: Record<string, Strike>, { fault, ...call }: Struck, work: Work) {
  const found = fault && strikes[fault.kind]
  return found ? found({ ...call, fault }, work) : work()
}

/** What the key stores instead of the true answer, although the work is done. */
export function refusalToKeep({ fault }: Struck): ProviderError | undefined {
  return fault?.kind === 'error-after' ? frozen() : undefined
}

const NO_ANSWER: Answer = { status: 0, body: '', cut: 'reset' }

function proxyPage(status: number): Answer {
  const body = '<!doctype html><title>Bad gateway</title><h1>Bad gateway</h1>\n'
  return { status, body, headers: { 'content-type': 'text/html' } }
}

function refuse(error: ProviderError): never {
  throw error
}

/** What the provider answers when it breaks, which does not prove that nothing was done. */
const broken = (headers?: Record<string, string>) =>
  new ProviderError({
    status: 500,
    type: 'api_error',
    message: 'An unknown error occurred (simulated by the sandbox).',
    headers,
  })

/** A failure stored under a key would only be replayed, so the provider asks clients not to retry. */
const frozen = () => broken({ 'stripe-should-retry': 'false' })
