import { STATUS_CODES } from 'node:http'
import type { Clock, Problem, Request } from '@plinth/kit'

/** This edition answers failures in its own plain form; the 401 is text, as its specification says. */
export function renderError(problem: Problem, request: Request): { type: string; body: string } {
  if (problem.status === 401) return { type: 'text/plain; charset=utf-8', body: 'Unauthorized' }
  const { status, message, extra } = problem
  const path = request.originalUrl.split('?', 1)[0]
  return errorBody(request.server.clock, { status, message, path, ...extra })
}

/** Of what is not even HTTP nobody knows the path. */
export function renderBrokenRequest(clock: Clock) {
  return (status: number, message: string) => errorBody(clock, { status, message, path: '' })
}

type ErrorFields = { status: number; message: string; path: string | undefined }

function errorBody(clock: Clock, { status, ...rest }: ErrorFields) {
  const timestamp = clock().toISOString()
  const body = { timestamp, status, error: STATUS_CODES[status], ...rest }
  return { type: 'application/json', body: JSON.stringify(body) }
}
