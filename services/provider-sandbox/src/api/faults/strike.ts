import { setTimeout as delay } from 'node:timers/promises'
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

/** The fault that was drawn for a call, and what it can do to it. */
export type Struck = { fault: Fault | undefined; held: HeldCalls; hungUp: AbortSignal }

type Strike = Struck & { fault: Fault }

/** One entry for each kind of a stage: the compiler misses those that are left out. */
type Strikes<S, Work> = Record<
  { [K in FaultKind]: (typeof FAULT_KINDS)[K]['stage'] extends S ? K : never }[FaultKind],
  Work
>

function find<Work>(strikes: Record<string, Work>, fault: Fault | undefined): Work | undefined {
  return fault && strikes[fault.kind]
}

/** Before anything is looked at: an answer, or a refusal that is thrown. */
const BEFORE: Strikes<'before', (strike: Strike) => Answer> = {
  'reset-before': () => NO_ANSWER,
  outage: () => NO_ANSWER,
  'html-before': () => proxyPage(502),
  'error-before': () => refuse(broken()),
  'in-use': () => refuse(keyInUse('(the sandbox was told so)')),
  unauthorized: () => refuse(unauthorized('Invalid API Key provided (the sandbox was told so).')),
  forbidden: () => refuse(forbidden()),
  'rate-limit': ({ fault }) => refuse(rateLimited(fault.retryAfterSeconds)),
}

export function strikeBefore(struck: Struck): Answer | undefined {
  return find(BEFORE, struck.fault)?.(struck as Strike)
}

/** While the call holds its key: an answer instead of the work, or none. */
const DURING: Strikes<'during', (strike: Strike) => Promise<Answer | undefined>> = {
  latency: async ({ fault }) => delay(fault.delayMs ?? 1000, undefined),
  hang: async ({ fault, held, hungUp }) => {
    await held.hold(hungUp, fault.delayMs)
    return NO_ANSWER
  },
  'error-instead': async () => refuse(frozen()),
}

export async function strikeDuring(struck: Struck): Promise<Answer | undefined> {
  return find(DURING, struck.fault)?.(struck as Strike)
}

/** What the key keeps instead of the true answer, though the work is done. */
export function refusalAfter({ fault }: Struck): ProviderError | undefined {
  return fault?.kind === 'error-after' ? frozen() : undefined
}

/** When the work is done and only the answer is left. */
const AFTER: Strikes<'after', (strike: Strike, answer: Answer) => Promise<Answer>> = {
  hold: async ({ fault, held, hungUp }, answer) => {
    await held.hold(hungUp, fault.delayMs)
    return answer
  },
  'reset-after': async (_strike, answer) => ({ ...answer, cut: 'reset' }),
  truncated: async (_strike, answer) => ({ ...answer, cut: 'truncated' }),
  'html-after': async () => proxyPage(200),
  // `refusalAfter` has replaced it already.
  'error-after': async (_strike, answer) => answer,
}

export async function strikeAfter(struck: Struck, answer: Answer): Promise<Answer> {
  return (await find(AFTER, struck.fault)?.(struck as Strike, answer)) ?? answer
}

const NO_ANSWER: Answer = { status: 0, body: '', cut: 'reset' }

function proxyPage(status: number): Answer {
  const body = '<!doctype html><title>Bad gateway</title><h1>Bad gateway</h1>\n'
  return { status, body, headers: { 'content-type': 'text/html' } }
}

function refuse(error: ProviderError): never {
  throw error
}

/** What the provider says when it broke: no proof that nothing was done. */
const broken = (headers?: Record<string, string>) =>
  new ProviderError({
    status: 500,
    type: 'api_error',
    message: 'An unknown error occurred (the sandbox was told to fail).',
    headers,
  })

/** A failure that a key keeps would only be replayed: the provider asks not to try again. */
const frozen = () => broken({ 'stripe-should-retry': 'false' })

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
