/** What administrators see on the landing page: today's figures, the services' health and the last requests. */
import type { Server } from '@plinth/kit/http'
import type { RunningService } from '../../services.ts'
import type { Activity } from './activity.ts'
import { administratorGuard } from './administrators.ts'

const MAX_SHOWN = 200

/** Without identity there is no sign-in, so there is nothing to show. */
export function homeRoutes(server: Server, running: RunningService[], activity: Activity): void {
  const identity = running.find(({ entry }) => entry.signsForOthers)
  if (!identity) return
  const onRequest = [administratorGuard(identity)]
  const noStore = { 'cache-control': 'no-store' }
  server.get('/api/home', {
    onRequest,
    handler: async (_request, reply) => {
      const { startedAt, everySeconds } = activity
      const [intervals, health] = await Promise.all([activity.intervals(), healthOf(running)])
      return reply.headers(noStore).send({ startedAt, everySeconds, intervals, health })
    },
  })
  server.get('/api/requests', {
    onRequest,
    handler: async (_request, reply) => reply.headers(noStore).send(recentOf(running)),
  })
}

function healthOf(running: RunningService[]) {
  return Promise.all(
    running.map(async ({ entry, server }) => ({
      service: entry.name,
      title: entry.title,
      ...(await server.health()),
    })),
  )
}

/** Newest first. */
function recentOf(running: RunningService[]) {
  return running
    .flatMap(({ entry, server }) =>
      server.recentRequests().map((each) => ({ service: entry.name, ...each })),
    )
    .sort((left, right) => right.at - left.at)
    .slice(0, MAX_SHOWN)
}
