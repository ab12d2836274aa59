import { type AccountGuard, ADMIN_ROLE, byCaller } from '@plinth/accounts'
import {
  emptyBody,
  type Guard,
  noContent,
  pageQuery,
  pageReply,
  pageRequest,
  type Server,
} from '@plinth/kit/http'
import {
  ClientChangeBody,
  ClientPath,
  ClientReply,
  IssuedReply,
  NewClientBody,
  RotateBody,
  SecretReply,
} from './client-schemas.ts'
import {
  CLIENT_SORTS,
  type Client,
  type Clients,
  changeClient,
  createClient,
  pageOfClients,
  removeClient,
  requireClient,
  rotateSecret,
} from './clients.ts'
import { clientUnknown, clientWithoutSecret } from './problems.ts'

const tags = ['Clients']

type Guards = { guard: AccountGuard; recent: Guard }

/** For administrators: the applications that users sign in to. */
export function clientRoutes(server: Server, clients: Clients, { guard, recent }: Guards): void {
  const admin = guard.role(ADMIN_ROLE)
  const changing = [admin, recent]

  server.post('/api/clients', {
    onRequest: changing,
    schema: {
      operationId: 'createClient',
      summary: 'Register a client; only this reply contains its secret',
      tags,
      body: NewClientBody,
      response: { 201: IssuedReply },
    },
    handler: async (request) => {
      const { client, clientSecret: secret } = await createClient(
        clients,
        request.body,
        byCaller(request),
      )
      return { ...client, clientSecret: secret }
    },
  })

  server.get('/api/clients', {
    onRequest: admin,
    schema: {
      operationId: 'clients',
      summary: 'The registered clients',
      tags,
      readsQuery: pageQuery(CLIENT_SORTS),
      response: { 200: pageReply(ClientReply, 'ClientPage') },
    },
    handler: ({ query }) => pageOfClients(clients, pageRequest(query, CLIENT_SORTS)),
  })

  server.get('/api/clients/:clientId', {
    onRequest: admin,
    schema: {
      operationId: 'client',
      summary: 'A registered client',
      tags,
      params: ClientPath,
      response: { 200: ClientReply },
      problems: [clientUnknown],
    },
    handler: ({ params }) => requireClient(clients, params.clientId),
  })

  changeRoutes(server, clients, changing)
}

function changeRoutes(server: Server, clients: Clients, changing: Guard[]): void {
  server.patch('/api/clients/:clientId', {
    onRequest: changing,
    schema: {
      operationId: 'changeClient',
      summary: 'Change a client; one that is disabled loses its sessions',
      tags,
      params: ClientPath,
      body: ClientChangeBody,
      response: { 200: ClientReply },
      problems: [clientUnknown],
    },
    handler: (request): Promise<Client> =>
      changeClient(clients, request.params.clientId, request.body, byCaller(request)),
  })

  server.delete('/api/clients/:clientId', {
    onRequest: changing,
    schema: {
      operationId: 'removeClient',
      summary: 'Remove a client, with its sessions and what users allowed it',
      tags,
      params: ClientPath,
      response: { 204: noContent },
      problems: [clientUnknown],
    },
    handler: (request) => removeClient(clients, request.params.clientId, byCaller(request)),
  })

  server.post('/api/clients/:clientId/rotate-secret', {
    onRequest: changing,
    preValidation: emptyBody,
    schema: {
      operationId: 'rotateClientSecret',
      summary: 'A new secret; the old one stays valid for the overlap',
      tags,
      params: ClientPath,
      body: RotateBody,
      response: { 201: SecretReply },
      problems: [clientUnknown, clientWithoutSecret],
    },
    handler: (request) => {
      const { overlapSeconds } = request.body
      const change = { overlapSeconds, by: byCaller(request) }
      return rotateSecret(clients, request.params.clientId, change)
    },
  })
}
