import { type AccountGuard, ADMIN_ROLE, byCaller } from '@plinth/accounts'
import {
  emptyBody,
  type Guard,
  noContent,
  oneOf,
  orNull,
  pageQuery,
  pageReply,
  pageRequest,
  requiredText,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { DAY_SECONDS } from '@plinth/kit/runtime'
import {
  AUTH_METHODS,
  CLIENT_SORTS,
  type Client,
  type Clients,
  changeClient,
  createClient,
  ID_TOKEN_ALGORITHMS,
  pageOfClients,
  removeClient,
  requireClient,
  rotateSecret,
} from './clients.ts'
import { AUTHORIZATION_CODE, REFRESH_TOKEN, USER_SCOPES } from './openid.ts'
import { clientUnknown, clientWithoutSecret } from './problems.ts'

const MAX_ADDRESSES = 50
const MAX_RESOURCES = 50
const MAX_KEYS = 20
const MAX_NAME = 100
const MAX_ADDRESS = 2048
const MAX_OVERLAP_SECONDS = 7 * DAY_SECONDS

const address = Type.String({ maxLength: MAX_ADDRESS, examples: ['https://wiki.example/callback'] })
const addresses = Type.Array(address, { maxItems: MAX_ADDRESSES })
const Keys = Type.Object({
  keys: Type.Array(Type.Unsafe<Record<string, unknown>>({ type: 'object' }), {
    maxItems: MAX_KEYS,
  }),
})

const chosen = {
  name: requiredText({ maxLength: MAX_NAME, examples: ['Wiki'] }),
  redirectUris: addresses,
  postLogoutRedirectUris: addresses,
  authMethod: oneOf(...AUTH_METHODS),
  grantTypes: Type.Array(oneOf(AUTHORIZATION_CODE, REFRESH_TOKEN), { minItems: 1, maxItems: 10 }),
  scopes: Type.Array(oneOf(...USER_SCOPES), { minItems: 1, maxItems: USER_SCOPES.length }),
  resources: Type.Array(Type.String(), { maxItems: MAX_RESOURCES }),
  jwks: orNull(Keys),
  jwksUri: orNull(address),
  firstParty: Type.Boolean({
    description: 'One of your own: no consent, and the user’s own tokens',
  }),
  requirePkce: Type.Boolean(),
  requirePar: Type.Boolean(),
  idTokenAlg: oneOf(...ID_TOKEN_ALGORITHMS),
  backchannelLogoutUri: orNull(address),
  uri: orNull(address),
}

const optional = {
  redirectUris: Type.Optional(chosen.redirectUris),
  postLogoutRedirectUris: Type.Optional(chosen.postLogoutRedirectUris),
  authMethod: Type.Optional(chosen.authMethod),
  grantTypes: Type.Optional(chosen.grantTypes),
  scopes: Type.Optional(chosen.scopes),
  resources: Type.Optional(chosen.resources),
  jwks: Type.Optional(chosen.jwks),
  jwksUri: Type.Optional(chosen.jwksUri),
  firstParty: Type.Optional(chosen.firstParty),
  requirePkce: Type.Optional(chosen.requirePkce),
  requirePar: Type.Optional(chosen.requirePar),
  idTokenAlg: Type.Optional(chosen.idTokenAlg),
  backchannelLogoutUri: Type.Optional(chosen.backchannelLogoutUri),
  uri: Type.Optional(chosen.uri),
}

const closed = { additionalProperties: false }

export const NewClientBody = Type.Object(
  { name: chosen.name, ...optional },
  { ...closed, title: 'NewClient' },
)

const ClientChangeBody = Type.Object(
  { name: Type.Optional(chosen.name), ...optional, enabled: Type.Optional(Type.Boolean()) },
  { ...closed, title: 'ClientChange' },
)

const shown = {
  clientId: Type.String({ examples: ['bT9Rk3JmQ2xvV0hQb3RqWg'] }),
  ...chosen,
  grantTypes: Type.Array(Type.String({ examples: [AUTHORIZATION_CODE] })),
  scopes: Type.Array(Type.String({ examples: ['openid'] })),
  enabled: Type.Boolean(),
  createdBy: Type.String({ examples: ['admin'] }),
  createdAt: timestamp(),
  updatedAt: timestamp(),
}

const ClientReply = Type.Object(shown, { title: 'Client' })

const clientSecret = Type.String({ description: 'Shown only here' })

const IssuedReply = Type.Object(
  { ...shown, clientSecret: orNull(clientSecret) },
  { title: 'IssuedClient' },
)

const RotateBody = Type.Object(
  { overlapSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_OVERLAP_SECONDS })) },
  closed,
)

const ClientPath = Type.Object({ clientId: Type.String({ examples: ['bT9Rk3JmQ2xvV0hQb3RqWg'] }) })

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
      response: { 201: Type.Object({ clientSecret }, { title: 'ClientSecret' }) },
      problems: [clientUnknown, clientWithoutSecret],
    },
    handler: (request) => {
      const { overlapSeconds } = request.body
      const change = { overlapSeconds, by: byCaller(request) }
      return rotateSecret(clients, request.params.clientId, change)
    },
  })
}
