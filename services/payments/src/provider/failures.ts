import { Problem } from '@plinth/kit/problems'
import {
  credentialRejected,
  keyReused,
  mustExist,
  providerFailed,
  providerRejected,
  providerResourceMissing,
  rateLimited,
} from './problems.ts'

const BEFORE_EXECUTION = [rateLimited, credentialRejected]
const FINAL = [providerRejected, providerResourceMissing, keyReused]

type Circumstances = {
  /** Requests that may have reached the provider; a refusal answers only the last one. */
  tries: number
  isReplay?: boolean
  isUnexplained?: boolean
}

/** A failed call to the provider, and what is certain about it. */
export class ProviderFailure extends Problem {
  /** The call certainly had no effect. Otherwise it may have happened despite the failure. */
  readonly didNothing: boolean
  /** The request is refused for good. Unless `keyConflict`, no request under its key had any effect. */
  readonly isFinal: boolean
  /** The first request under the key has finished: if a look-up finds nothing now, it created nothing. */
  readonly isReplay: boolean
  /** Without the provider's own error object the answer may be that of a proxy in between. */
  readonly isUnexplained: boolean
  /** The key was used with other content: only a look-up shows what that request created. */
  readonly keyConflict: boolean

  constructor(problem: Problem, { tries, isReplay = false, isUnexplained = false }: Circumstances) {
    super(problem.code, problem.status, problem.message, problem)
    const isRefusal = BEFORE_EXECUTION.some((kind) => kind.is(problem))
    this.isFinal = FINAL.some((kind) => kind.is(problem))
    this.didNothing = this.isFinal || tries === 0 || (isRefusal && tries === 1)
    this.isReplay = isReplay
    this.isUnexplained = isUnexplained
    this.keyConflict = keyReused.is(problem)
  }
}

/** What is certain about a failed call, however it failed. */
export function certaintyOf(error: unknown): Partial<ProviderFailure> {
  return error instanceof ProviderFailure ? error : {}
}

/**
 * Reads an object that an earlier call created. That call succeeded, so nothing that is certain about
 * a failed read may be taken for the call: it would withdraw what exists, and create it again.
 */
export async function readCreated<T>(reading: Promise<T>): Promise<T> {
  try {
    return await mustExist(reading)
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    throw new Problem(error.code, error.status, error.message, error)
  }
}

/**
 * An earlier request under the key may have had its effect. If so the provider repeats its reply; so a refusal that is
 * not the provider's own says nothing about it.
 */
export function afterLostTry<E>(error: E): E | ProviderFailure {
  const { isFinal, isUnexplained } = certaintyOf(error)
  return isFinal && isUnexplained
    ? new ProviderFailure(providerFailed({ cause: error }), { tries: 2 })
    : error
}
