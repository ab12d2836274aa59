/** The Health page for people without Grafana, and the figures it draws. */
import { consoleFolder } from '@plinth/console'
import { consoleRoutes, type Guard, type Server } from '@plinth/kit/http'
import type { Point } from './history.ts'

const PAGE = { operationId: 'healthPage', summary: 'The last hour, as a page for browsers' }

/** The page itself holds no figures, so that a browser can load it and ask for the token. */
export function healthRoutes(
  server: Server,
  points: () => Promise<Point[]>,
  guards: Guard[] = [],
): void {
  server.get('/api/history', { onRequest: guards, handler: points })
  consoleRoutes(server, consoleFolder('health'), '/health', PAGE)
}
