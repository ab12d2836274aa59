import { type Guard, pageRequest, type Server } from '@plinth/kit'
import type { Storage } from '../storage.ts'
import { pageOfUsage, usageOf } from './usage.ts'

export function usageRoutes(
  server: Server,
  storage: Storage,
  { caller, admin }: { caller: Guard; admin: Guard },
): void {
  server.get('/file/usage', {
    onRequest: caller,
    handler: (request) => usageOf(storage, request.caller),
  })

  server.get('/api/storage/usage', {
    onRequest: admin,
    handler: ({ query }) => pageOfUsage(storage, pageRequest(query, [])),
  })
}
