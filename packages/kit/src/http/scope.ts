import type { RawServerDefault } from 'fastify'
import type { Logger } from '../logging.ts'
import type { SchemaTypes, Server } from './framework.ts'

/** Adds routes that have hooks, body parsers or an error handler of their own. */
export function inScope(server: Server, add: (scope: Server) => void): void {
  server.register<RawServerDefault, SchemaTypes, Logger>(async (scope) => add(scope))
}
