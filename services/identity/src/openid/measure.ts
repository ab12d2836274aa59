import type { Server } from '@plinth/kit/http'
import type { Authorized } from './authorize.ts'

const RESULTS = ['asked', 'granted', 'denied', 'refused', 'rejected'] as const

type Result = (typeof RESULTS)[number]

/** What became of the requests of clients. */
export function countAuthorizations({ metrics }: Pick<Server, 'metrics'>) {
  const count = metrics.counter({
    name: 'plinth_authorizations_total',
    help: 'Requests of clients to sign a user in, by result.',
    labels: ['result'],
  })
  for (const result of RESULTS) count({ result }, 0)
  return (result: Result) => count({ result })
}

export function resultOf(authorized: Authorized): Result {
  if ('page' in authorized) return 'asked'
  return 'code' in authorized.answer ? 'granted' : 'refused'
}
