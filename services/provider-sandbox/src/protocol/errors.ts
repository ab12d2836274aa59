import { Problem } from '@plinth/kit/problems'

type ErrorType = 'invalid_request_error' | 'idempotency_error' | 'api_error' | 'card_error'

type ErrorFacts = {
  status: number
  message: string
  type?: ErrorType
  code?: string
  param?: string
  headers?: Record<string, string>
  /** Refused before the endpoint began its work, so it is not stored under an idempotency key. */
  transient?: boolean
}

/** A refusal in the provider's words. Outside its API it is rendered like any other problem. */
export class ProviderError extends Problem {
  readonly facts: ErrorFacts & { type: ErrorType }

  constructor(facts: ErrorFacts) {
    const type = facts.type ?? 'invalid_request_error'
    const code = (facts.code ?? type).toUpperCase()
    super(code, facts.status, facts.message, { headers: facts.headers ?? {} })
    this.facts = { ...facts, type }
  }
}

export const invalidForm = (message: string) =>
  new ProviderError({ status: 400, message, transient: true })

/** An error in the parameters themselves: found before any work, never stored. */
export const parameterInvalid = (param: string, message: string, code?: string) =>
  new ProviderError({ status: 400, message, param, code, transient: true })

export const parameterUnknown = (param: string) =>
  parameterInvalid(param, `Received unknown parameter: ${param}`, 'parameter_unknown')

export const parameterMissing = (param: string) =>
  parameterInvalid(param, `Missing required param: ${param}.`, 'parameter_missing')

export const parameterEmpty = (param: string) =>
  parameterInvalid(
    param,
    `You passed an empty string for '${param}'. Empty values unset a parameter; however '${param}' cannot be unset.`,
    'parameter_invalid_empty',
  )

/** A refusal that depends on the current state. */
export const requestRefused = (message: string, code?: string, param?: string) =>
  new ProviderError({ status: 400, message, code, param })

/** 404 for the object that a path names, 400 for one that a parameter names. */
export function resourceMissing(kind: string, id: string, param = 'id'): ProviderError {
  const status = param === 'id' ? 404 : 400
  const message = `No such ${kind}: '${id}'`
  return new ProviderError({ status, message, code: 'resource_missing', param })
}

export const unknownUrl = (method: string, path: string) =>
  new ProviderError({
    status: 404,
    message: `Unrecognized request URL (${method}: ${path}). The sandbox does not know this path.`,
  })
