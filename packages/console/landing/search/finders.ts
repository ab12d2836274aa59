import type { IdentityApi, PaymentsApi, StorageApi } from '@plinth/client'
import type { Finder } from '../../shared/shell/definition.ts'
import { inReference, type Source } from '../../shared/shell/finders.ts'
import {
  clientsIn,
  customersIn,
  endpointsIn,
  filesIn,
  keysIn,
  ownersIn,
  paymentsIn,
  usersIn,
} from '../../shared/shell/records.ts'
import { isSignedIn, serviceAt } from '../home/figures.ts'
import type { RunningService } from '../services.ts'

/** Every service answers below the address of this page; its console is elsewhere. */
type Place = { path: string; open(page: string): void }

/** What a service says about itself, as far as it decides whose tokens it accepts. */
type Facts = { issuer?: string; access?: 'open' | 'keys' | 'issuer' }

/** Whether a token of identity is of use at the service. Others would refuse each question. */
type Accepts = (facts: Facts) => boolean

const always: Accepts = () => true

/** The searches of one service, and at which of them an administrator of identity is answered. */
const RECORDS: Record<string, (place: Place) => [Finder, Accepts][]> = {
  identity: (place) => {
    const source = sourceAt<IdentityApi.Replies>(place)
    return [
      [usersIn(source), always],
      [clientsIn(source), always],
      [keysIn(source), always],
      [endpointsIn(source), always],
    ]
  },
  'storage-full': (place) => {
    const source = sourceAt<StorageApi.Replies>(place)
    const accepts: Accepts = ({ issuer }) => issuer !== undefined
    return [
      [filesIn(source), accepts],
      [ownersIn(source), accepts],
      [keysIn(source), accepts],
      [endpointsIn(source), accepts],
    ]
  },
  payments: (place) => {
    const source = sourceAt<PaymentsApi.Replies>(place)
    const accepts: Accepts = ({ access }) => access !== 'keys'
    return [
      [paymentsIn(source), accepts],
      [customersIn(source), accepts],
      [endpointsIn(source), accepts],
      [keysIn(source, 'access'), ({ access }) => access === 'issuer'],
    ]
  },
}

const known = new Map<string, { operations?: Finder; records: Finder[] }>()

/** Operations for everyone, records for administrators who have signed in on this page. */
export function findersOf(services: RunningService[]): Finder[] {
  return services.flatMap((service) => {
    const { operations, records } = knownOf(service)
    return [...(operations ? [operations] : []), ...(isSignedIn.value ? records : [])]
  })
}

/** Kept, because each reads something only once. */
function knownOf(service: RunningService) {
  const { name, title, path, consoleUrl } = service
  const there = known.get(name) ?? {
    ...(name !== 'provider-sandbox' && {
      operations: named(title, inReference(serviceOf(consoleUrl), path)),
    }),
    records: recordsOf(name, {
      path,
      open: (page) => location.assign(`${consoleUrl}#/${page}`),
    }).map((finder) => named(title, finder)),
  }
  known.set(name, there)
  return there
}

/** The address of the service, at the host of its console. */
const serviceOf = (consoleUrl: string) => new URL('..', consoleUrl).href.replace(/\/$/, '')

function recordsOf(name: string, place: Place): Finder[] {
  const service = serviceAt<{ 'GET /api-test/facts.json': Facts }>(place.path)
  let reading: Promise<Facts> | undefined
  const read = async (): Promise<Facts> => {
    const reply = await service.get('/api-test/facts.json', { open: true, silent: true })
    if (reply.ok) return reply.body
    reading = undefined
    return { access: 'keys' }
  }
  return (RECORDS[name]?.(place) ?? []).map(([finder, accepts]) => async (text, signal) => {
    if (accepts === always) return finder(text, signal)
    reading ??= read()
    return accepts(await reading) ? finder(text, signal) : []
  })
}

function sourceAt<Replies>({ path, open }: Place): Source<Replies> {
  return { api: serviceAt(path), open }
}

function named(title: string, finder: Finder): Finder {
  return async (text, signal) => {
    const found = await finder(text, signal)
    return found.map((entry) => ({ ...entry, kind: `${entry.kind} of ${title}` }))
  }
}
