import { type Problem, type Request, renderProblem } from '@plinth/kit'
import { errorAnswer } from './answer.ts'
import { ProviderError, unknownUrl } from './provider-errors.ts'

/** On the provider's paths every failure wears its envelope, also those found before a route. */
export function renderForApi(problem: Problem, request: Request): { type: string; body: string } {
  const path = request.url.split('?', 1)[0] ?? ''
  if (!path.startsWith('/v1/')) return renderProblem(problem, request)
  return {
    type: 'application/json',
    body: errorAnswer(toProviderError(problem, request.method, path), '').body,
  }
}

function toProviderError(problem: Problem, method: string, path: string): ProviderError {
  if (problem instanceof ProviderError) return problem
  if (problem.status === 404 || problem.status === 405) return unknownUrl(method, path)
  const type = problem.status >= 500 ? 'api_error' : 'invalid_request_error'
  return new ProviderError({ status: problem.status, type, message: problem.message })
}
