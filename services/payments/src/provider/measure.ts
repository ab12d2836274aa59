import type { Metrics } from '@plinth/kit/metrics'
import { Problem } from '@plinth/kit/problems'
import { withSpan } from '@plinth/kit/tracing'
import type { PaymentProvider, ProviderCalls } from './provider.ts'

const BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25]

const RESULTS = ['accepted', 'refused', 'failed'] as const

type Result = (typeof RESULTS)[number]

type Operation = (...args: unknown[]) => Promise<unknown>

/** Wraps the provider so that every call is timed by operation and result. */
export function measureProvider(provider: PaymentProvider, metrics: Metrics): PaymentProvider {
  const { calls } = provider
  return calls ? { ...provider, calls: measureCalls(calls, metrics) } : provider
}

function measureCalls(calls: ProviderCalls, metrics: Metrics): ProviderCalls {
  const observe = metrics.histogram({
    name: 'plinth_provider_request_duration_seconds',
    help: 'How long calls to the payment provider took, by operation and result.',
    labels: ['operation', 'result'],
    bounds: BOUNDS,
    known: timedOf(calls).flatMap(([operation]) =>
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
  const measured = timedOf(calls).map(([name, call]) => [name, timed(name, call)])
  return { ...calls, ...Object.fromEntries(measured) }
}

/** Excludes `listSessions`, which its caller reads page by page. */
function timedOf(calls: ProviderCalls): [string, Operation][] {
  const members = Object.entries(calls) as [string, Operation][]
  return members.filter(([name]) => name !== 'listSessions')
}

function resultOf(error: unknown): Result {
  return error instanceof Problem && error.status < 500 ? 'refused' : 'failed'
}
