import { randomUUID } from 'node:crypto'
import { callerGuard, type Guard } from '@plinth/kit/http'
import type { RunningService } from '../../services.ts'

const ADMINISTRATOR = 'ROLE_ADMIN'
const ANSWER_MS = 3_000

type Account = { id: number; username: string; roles: string[] }

/** The newest of the guard's own requests to identity: as many as identity keeps in its log. */
const MOST_OWN = 400

export type AdministratorGuard = { guard: Guard; isOwn(requestId: string): boolean }

/** Admits administrators of identity. It asks identity itself, so that a role that was taken away counts at once. */
export function administratorGuard({ url }: Pick<RunningService, 'url'>): AdministratorGuard {
  const own = new Set<string>()
  const guard = callerGuard(async (token) => {
    const requestId = randomUUID()
    own.add(requestId)
    for (const oldest of own) {
      if (own.size <= MOST_OWN) break
      own.delete(oldest)
    }
    const reply = await fetch(`${url}/api/users/me`, {
      headers: { authorization: `Bearer ${token}`, 'x-request-id': requestId },
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    if (!reply.ok) return undefined
    const { id, username, roles } = (await reply.json()) as Account
    return { userId: String(id), username, roles, sessionId: '' }
  }).role(ADMINISTRATOR)
  return { guard, isOwn: (requestId) => own.has(requestId) }
}
