/** What the search finds in the lists of the services. */
import type {
  Client,
  Customer,
  Page,
  PageOfUsers,
  Payment,
  StorageApi,
  UsageOfOwner,
} from '@plinth/client'
import type { Finder } from './definition.ts'
import { inList, type Source } from './finders.ts'

export const usersIn = (source: Source): Finder =>
  inList<PageOfUsers>(
    source,
    (text) => `/api/users?size=5&contains=${text}`,
    ({ content }) =>
      content.map(({ id, username, email }) => ({
        title: `${username} (${email})`,
        kind: 'user',
        path: `users/${id}`,
      })),
  )

export const clientsIn = (source: Source): Finder =>
  inList<Page<Client>>(source, '/api/clients?size=100', ({ content }) =>
    content.map(({ name, clientId }) => ({
      title: `${name} (${clientId})`,
      kind: 'client',
      path: `clients/${encodeURIComponent(clientId)}`,
    })),
  )

export const filesIn = (source: Source): Finder =>
  inList<StorageApi.FoundFiles>(
    source,
    (text) => `/file/search?q=${text}&size=20`,
    ({ content }) =>
      content.map(({ id, originalFilename }) => ({
        title: originalFilename,
        kind: 'file',
        path: `files/${id}`,
      })),
  )

export const ownersIn = (source: Source): Finder =>
  inList<Page<UsageOfOwner>>(source, '/api/storage/usage?size=100', ({ content }) =>
    content.map(({ owner, ownerId }) => ({
      title: String(owner ?? ownerId),
      kind: 'owner',
      path: `owners/${encodeURIComponent(ownerId)}`,
    })),
  )

export const paymentsIn = (source: Source): Finder =>
  inList<Page<Payment>>(
    source,
    (text) => `/api/payments?size=5&sort=createdAt,desc&contains=${text}`,
    ({ content }) =>
      content.map(({ id, businessReference }) => ({
        title: businessReference,
        kind: 'payment',
        path: `payments/${id}`,
      })),
  )

export const customersIn = (source: Source): Finder =>
  inList<{ customers: Customer[] }>(source, '/api/customers', ({ customers }) =>
    customers.map(({ id, name, email }) => ({
      title: [name, email, id].filter(Boolean).join(', '),
      kind: 'customer',
      path: `customers?sought=${encodeURIComponent(id)}`,
    })),
  )

/** `page`: where the console lists them. */
export const keysIn = (source: Source, page = 'keys'): Finder =>
  inList<{ id: number; name: string; start: string }[]>(source, '/api/service-keys', (rows) =>
    rows.map(({ name, start }) => ({
      title: `${name} (${start}…)`,
      kind: 'key',
      path: `${page}?keys-find=${encodeURIComponent(start)}`,
    })),
  )

export const endpointsIn = (source: Source): Finder =>
  inList<{ id: string; url: string }[]>(source, '/api/webhooks/endpoints', (rows) =>
    rows.map(({ id, url }) => ({
      title: url,
      kind: 'endpoint',
      path: `events?endpoints-find=${encodeURIComponent(id)}`,
    })),
  )
