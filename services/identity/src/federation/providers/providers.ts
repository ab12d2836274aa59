import type { Metrics } from '@plinth/kit/metrics'
import type { Clock } from '@plinth/kit/runtime'
import type { ProviderSettings } from '../settings.ts'
import type { Measure } from './calls.ts'
import { gitHubProvider } from './github.ts'
import { openIdProvider } from './openid.ts'
import type { Provider } from './provider.ts'

/** The providers of the settings, by id. Nothing is asked of one before it is used. */
export type Providers = ReadonlyMap<string, Provider>

type Options = { clock: Clock; production: boolean; measure?: Measure }

export function openProviders(
  settings: ProviderSettings[],
  { clock, production, measure = () => {} }: Options,
): Providers {
  const rules = { plainHttp: !production, measure }
  return new Map(
    settings.map((each) => [
      each.id,
      each.type === 'github' ? gitHubProvider(each, rules) : openIdProvider(each, clock, rules),
    ]),
  )
}

const BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

export function measureProviders(metrics: Metrics): Measure {
  const time = metrics.histogram({
    name: 'plinth_provider_call_seconds',
    help: 'Calls to sign-in providers, by provider, call and result.',
    labels: ['provider', 'call', 'result'],
    bounds: BOUNDS,
  })
  return (call, seconds) => time(call, seconds)
}
