/** What the search finds in the lists of the services. */
import type { IdentityApi, PaymentsApi, StorageApi } from '@plinth/client'
import type { AccountReplies, EventReplies, ServiceKeyReplies } from '../api/shared-operations.ts'
import type { Finder } from './definition.ts'
import { inList, type Source } from './finders.ts'

export const usersIn = ({ api, open }: Source<AccountReplies>): Finder =>
  inList(
    (options, text) => api.get('/api/users', { query: `size=5&contains=${text}`, ...options }),
    ({ content }) =>
      content.map(({ id, username, email }) => ({
        title: `${username} (${email})`,
        kind: 'user',
        path: `users/${id}`,
      })),
    open,
  )

export const clientsIn = ({ api, open }: Source<IdentityApi.Replies>): Finder =>
  inList(
    (options) => api.get('/api/clients', { query: 'size=100', ...options }),
    ({ content }) =>
      content.map(({ name, clientId }) => ({
        title: `${name} (${clientId})`,
        kind: 'client',
        path: `clients/${encodeURIComponent(clientId)}`,
      })),
    open,
  )

export const filesIn = ({ api, open }: Source<StorageApi.Replies>): Finder =>
  inList(
    (options, text) => api.get('/file/search', { query: `q=${text}&size=20`, ...options }),
    ({ content }) =>
      content.map(({ id, originalFilename }) => ({
        title: originalFilename,
        kind: 'file',
        path: `files/${id}`,
      })),
    open,
  )

export const ownersIn = ({ api, open }: Source<StorageApi.Replies>): Finder =>
  inList(
    (options) => api.get('/api/storage/usage', { query: 'size=100', ...options }),
    ({ content }) =>
      content.map(({ owner, ownerId }) => ({
        title: String(owner ?? ownerId),
        kind: 'owner',
        path: `owners/${encodeURIComponent(ownerId)}`,
      })),
    open,
  )

export const paymentsIn = ({ api, open }: Source<PaymentsApi.Replies>): Finder =>
  inList(
    (options, text) =>
      api.get('/api/payments', {
        query: `size=5&sort=createdAt,desc&contains=${text}`,
        ...options,
      }),
    ({ content }) =>
      content.map(({ id, businessReference }) => ({
        title: businessReference,
        kind: 'payment',
        path: `payments/${id}`,
      })),
    open,
  )

export const customersIn = ({ api, open }: Source<PaymentsApi.Replies>): Finder =>
  inList(
    (options) => api.get('/api/customers', options),
    ({ customers }) =>
      customers.map(({ id, name, email }) => ({
        title: [name, email, id].filter(Boolean).join(', '),
        kind: 'customer',
        path: `customers?sought=${encodeURIComponent(id)}`,
      })),
    open,
  )

/** `page`: where the console lists them. */
export const keysIn = ({ api, open }: Source<ServiceKeyReplies>, page = 'keys'): Finder =>
  inList(
    (options) => api.get('/api/service-keys', options),
    (rows) =>
      rows.map(({ name, start }) => ({
        title: `${name} (${start}…)`,
        kind: 'key',
        path: `${page}?keys-find=${encodeURIComponent(start)}`,
      })),
    open,
  )

export const endpointsIn = ({ api, open }: Source<EventReplies>): Finder =>
  inList(
    (options) => api.get('/api/webhooks/endpoints', options),
    (rows) =>
      rows.map(({ id, url }) => ({
        title: url,
        kind: 'endpoint',
        path: `events?endpoints-find=${encodeURIComponent(id)}`,
      })),
    open,
  )
