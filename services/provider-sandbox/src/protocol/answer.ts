import type { Problem } from '@plinth/kit'
import { ProviderError, unknownUrl } from './errors.ts'

/** A reply that is ready to be sent; `cut` breaks the connection instead of it or half-way. */
export type Answer = {
  status: number
  body: string
  headers?: Record<string, string>
  cut?: 'reset' | 'truncated'
}

/** Indented, as the provider's replies are. */
export function jsonOf(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

export function errorAnswer(error: ProviderError, requestLogUrl: string): Answer {
  const { status, message, type, code, param } = error.facts
  const body = {
    error: {
      ...(code !== undefined && { code, doc_url: docUrl(code) }),
      message,
      ...(param !== undefined && { param }),
      request_log_url: requestLogUrl,
      type,
    },
  }
  return { status, body: jsonOf(body), headers: error.facts.headers }
}

function docUrl(code: string): string {
  return `https://docs.stripe.com/error-codes#${code.replaceAll('_', '-')}`
}

/** On the provider's paths every failure has its shape, also one found before a route. */
export function renderForApi(problem: Problem, method: string, url: string) {
  const path = url.split('?', 1)[0] ?? ''
  if (!path.startsWith('/v1/')) return undefined
  return {
    type: 'application/json',
    body: errorAnswer(toProviderError(problem, method, path), '').body,
  }
}

function toProviderError(problem: Problem, method: string, path: string): ProviderError {
  if (problem instanceof ProviderError) return problem
  if (problem.status === 404 || problem.status === 405) return unknownUrl(method, path)
  const type = problem.status >= 500 ? 'api_error' : 'invalid_request_error'
  return new ProviderError({ status: problem.status, type, message: problem.message })
}
