import {
  emptyBody,
  type Guard,
  IdPath,
  noContent,
  orNull,
  pathId,
  type Request,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { type KeyCaller, nameInAudit } from './key-guard.ts'
import { keyBody, NO_OTHERS } from './key-rights.ts'
import { MAX_OVERLAP_SECONDS } from './limits.ts'
import { keyEnded, keyUnknown } from './problems.ts'
import {
  allServiceKeys,
  createServiceKey,
  type IssuedKey,
  type KeyActor,
  revokeServiceKey,
  rotateServiceKey,
  type ServiceKey,
  type ServiceKeys,
} from './service-keys.ts'

const RotateBody = Type.Object(
  { overlapSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_OVERLAP_SECONDS })) },
  NO_OTHERS,
)

function repliesWith(scopes: readonly string[]) {
  const key = {
    id: Type.Integer(),
    name: Type.String({ examples: ['shop'] }),
    start: Type.String({ description: 'The first characters', examples: ['plk_test_A1b2'] }),
    scopes: Type.Array(Type.String({ examples: scopes.slice(0, 1) })),
    allowedCidrs: Type.Array(Type.String({ examples: ['192.0.2.0/24'] })),
    createdBy: Type.String({ examples: ['admin'] }),
    createdAt: moment(),
    expiresAt: moment(),
    lastUsedAt: orNull(moment()),
    lastUsedAddress: orNull(Type.String({ examples: ['192.0.2.7'] })),
    revokedAt: orNull(moment()),
    replacesId: orNull(Type.Integer()),
  }
  const secret = Type.String({ description: 'Shown only here' })
  return {
    KeyReply: Type.Object(key, { title: 'ServiceKey' }),
    IssuedReply: Type.Object({ ...key, secret }, { title: 'IssuedServiceKey' }),
  }
}

/** A `Date` in code, an ISO 8601 string in JSON. */
function moment() {
  return Type.Unsafe<Date>(timestamp())
}

const tags = ['Service keys']

/** For administrators: create a key and see its secret once, list, rotate with overlap, revoke. */
export function serviceKeyRoutes(
  server: Server,
  keys: ServiceKeys,
  admin: Guard,
  /** Further guards for changes. */
  ...recent: Guard[]
): void {
  const changing = [admin, ...recent]
  server.tellPages(() => ({ keyScopes: keys.scopes }))
  const { KeyReply, IssuedReply } = repliesWith(keys.scopes)
  server.post('/api/service-keys', {
    onRequest: changing,
    schema: {
      operationId: 'createServiceKey',
      summary: 'Create a service key; only this reply contains its secret',
      tags,
      body: keyBody(keys.scopes),
      response: { 201: IssuedReply },
    },
    handler: async (request) =>
      withSecret(await createServiceKey(keys, request.body, actorOf(request))),
  })

  server.get('/api/service-keys', {
    onRequest: admin,
    schema: {
      operationId: 'serviceKeys',
      summary: 'All service keys, without their secrets',
      tags,
      response: { 200: Type.Array(KeyReply) },
    },
    handler: async () => (await allServiceKeys(keys)).map(described),
  })

  server.post('/api/service-keys/:id/rotate', {
    onRequest: changing,
    preValidation: emptyBody,
    schema: {
      operationId: 'rotateServiceKey',
      summary: 'Rotate the secret; the old one stays valid for the overlap',
      tags,
      params: IdPath,
      body: RotateBody,
      response: { 201: IssuedReply },
      problems: [keyUnknown, keyEnded],
    },
    handler: async (request) => {
      const change = { ...request.body, by: actorOf(request) }
      return withSecret(await rotateServiceKey(keys, idIn(request.params), change))
    },
  })

  server.delete('/api/service-keys/:id', {
    onRequest: changing,
    schema: {
      operationId: 'revokeServiceKey',
      summary: 'Revoke a service key at once',
      tags,
      params: IdPath,
      response: { 204: noContent },
      problems: [keyUnknown],
    },
    handler: (request) => revokeServiceKey(keys, idIn(request.params), actorOf(request)),
  })
}

function withSecret({ key, secret }: IssuedKey) {
  return { ...described(key), secret }
}

function described({ rootId: _, ...shown }: ServiceKey) {
  return shown
}

function idIn({ id }: { id: string }): number {
  return pathId(id, { unknown: keyUnknown })
}

function actorOf({ caller, ip, id }: Pick<Request, 'caller' | 'ip' | 'id'>): KeyActor {
  const origin = { address: ip, requestId: id }
  const { scopes, allowedCidrs = [] } = caller as Partial<KeyCaller>
  const by = { actor: nameInAudit(caller), origin }
  return scopes ? { ...by, key: { scopes, allowedCidrs } } : { ...by, caller }
}
