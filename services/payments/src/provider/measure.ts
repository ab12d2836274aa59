import { type Metrics, Problem, withSpan } from '@plinth/kit'
import type { PaymentProvider } from './provider.ts'

const BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25]

const RESULTS = ['accepted', 'refused', 'failed'] as const

type Result = (typeof RESULTS)[number]

type Operation = (...args: unknown[]) => Promise<unknown>

/** The same provider, with every call timed by its operation and result. */
export function measureProvider(provider: PaymentProvider, metrics: Metrics): PaymentProvider {
  const observe = metrics.histogram({
    name: 'plinth_provider_request_duration_seconds',
    help: 'How long calls to the payment provider took, by operation and result.',
    labels: ['operation', 'result'],
    bounds: BOUNDS,
    known: timedOf(provider).flatMap(([operation]) =>
      RESULTS.map((result) => ({ operation, result })),
    ),
  })
  const timed = (operation: string, call: Operation): Operation => {
    return async (...args) => {
      const startedAt = performance.now()
      const seconds = () => (performance.now() - startedAt) / 1000
      try {
        const result = await withSpan(`provider ${operation}`, {}, () => call(...args), 'client')
        observe({ operation, result: 'accepted' }, seconds())
        return result
      } catch (error) {
        observe({ operation, result: resultOf(error) }, seconds())
        throw error
      }
    }
  }
  const measured = timedOf(provider).map(([name, call]) => [name, timed(name, call)])
  return { ...provider, ...Object.fromEntries(measured) }
}

/** Not `listSessions`, which is read page by page by the one who asked for it. */
function timedOf(provider: PaymentProvider): [string, Operation][] {
  const members = Object.entries(provider) as [string, Operation][]
  return members.filter(([name, call]) => typeof call === 'function' && name !== 'listSessions')
}

function resultOf(error: unknown): Result {
  return error instanceof Problem && error.status < 500 ? 'refused' : 'failed'
}
