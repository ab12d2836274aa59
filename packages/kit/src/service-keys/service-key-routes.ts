import type { Guard, Request, Server } from '../http/framework.ts'
import { IdPath, pathId, Type } from '../http/schema.ts'
import { keyUnknown } from './problems.ts'
import type { ServiceKey } from './service-keys.repository.ts'
import {
  allServiceKeys,
  createServiceKey,
  type IssuedKey,
  type KeyActor,
  KeyBody,
  LONGEST_OVERLAP_SECONDS,
  revokeServiceKey,
  rotateServiceKey,
  type ServiceKeys,
} from './service-keys.ts'

const RotateBody = Type.Object({
  overlapSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: LONGEST_OVERLAP_SECONDS })),
})

/** For administrators: make a key and see its secret once, list, rotate with overlap, revoke. */
export function serviceKeyRoutes(server: Server, keys: ServiceKeys, admin: Guard): void {
  server.post('/api/service-keys', {
    onRequest: admin,
    schema: { body: KeyBody },
    handler: async (request, reply) => {
      reply.code(201)
      return withSecret(await createServiceKey(keys, request.body, actorOf(request)))
    },
  })

  server.get('/api/service-keys', {
    onRequest: admin,
    handler: async () => (await allServiceKeys(keys)).map(described),
  })

  server.post('/api/service-keys/:id/rotate', {
    onRequest: admin,
    preValidation: async (request) => {
      request.body ??= {}
    },
    schema: { params: IdPath, body: RotateBody },
    handler: async (request, reply) => {
      const change = { ...request.body, by: actorOf(request) }
      reply.code(201)
      return withSecret(await rotateServiceKey(keys, idIn(request.params), change))
    },
  })

  server.delete('/api/service-keys/:id', {
    onRequest: admin,
    schema: { params: IdPath },
    handler: async (request, reply) => {
      await revokeServiceKey(keys, idIn(request.params), actorOf(request))
      return reply.code(204).send()
    },
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
  return { actor: caller.username, origin: { address: ip, requestId: id } }
}
