import { STATUS_CODES } from 'node:http'
import type { Problem, Request } from '@plinth/kit'

/** This edition answers failures in its own plain form; the 401 is text, as its specification says. */
export function renderError(problem: Problem, request: Request): { type: string; body: string } {
  if (problem.status === 401) return { type: 'text/plain; charset=utf-8', body: 'Unauthorized' }
  const body = {
    timestamp: request.server.clock().toISOString(),
    status: problem.status,
    error: STATUS_CODES[problem.status],
    message: problem.message,
    path: request.originalUrl.split('?', 1)[0],
    ...problem.extra,
  }
  return { type: 'application/json', body: JSON.stringify(body) }
}
