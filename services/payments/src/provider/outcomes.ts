import { Problem } from '@plinth/kit'

/** What a failed call tells about the things it may have done all the same. */
type CallFacts = {
  /** An earlier try of the same call got lost, so a refusal says nothing about that one. */
  lostTry: boolean
  /** The provider repeated the outcome it has stored for the idempotency key. */
  remembered: boolean
}

const known = new WeakMap<Problem, CallFacts>()

export function withFacts(problem: Problem, facts: CallFacts): Problem {
  known.set(problem, facts)
  return problem
}

const KEY_USED = 'PROVIDER_REFERENCE_REUSED'
const BEFORE_EXECUTION = new Set(['PROVIDER_RATE_LIMITED', 'PROVIDER_CREDENTIAL_REJECTED'])
const FOR_GOOD = new Set(['PROVIDER_REJECTED_REQUEST', 'PROVIDER_RESOURCE_NOT_FOUND', KEY_USED])

/** True when this request is refused for ever. Unless `isKeyUsed`, none under its key did anything. */
export function refusedForGood(error: unknown): boolean {
  return error instanceof Problem && FOR_GOOD.has(error.code)
}

/** True when this one call certainly did nothing. Anything else may have happened all the same. */
export function provenRefused(error: unknown): boolean {
  if (!(error instanceof Problem)) return false
  return FOR_GOOD.has(error.code) || (BEFORE_EXECUTION.has(error.code) && !factsOf(error).lostTry)
}

/** True when the key was used with other content: what came of that only a look-up tells. */
export function isKeyUsed(error: unknown): boolean {
  return error instanceof Problem && error.code === KEY_USED
}

/** True when the first request under the key is over: what a look-up does not find now never was. */
export function isRemembered(error: unknown): boolean {
  return error instanceof Problem && factsOf(error).remembered
}

function factsOf(problem: Problem): CallFacts {
  return known.get(problem) ?? { lostTry: false, remembered: false }
}
