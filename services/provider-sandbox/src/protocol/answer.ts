import type { Problem } from '@plinth/kit/problems'
import { ProviderError } from './errors.ts'

/** A reply that is ready to be sent; `cut` breaks the connection instead of sending it, or half-way. */
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

/** On the provider's paths every failure has the provider's shape, even one raised before the pipeline. */
export function renderForApi({ status, message }: Problem, url: string) {
  if (!/^\/v1($|[/?])/.test(url)) return undefined
  const type = status >= 500 ? 'api_error' : 'invalid_request_error'
  const { body } = errorAnswer(new ProviderError({ status, type, message }), '')
  return { type: 'application/json', body }
}
