import { randomUUID } from 'node:crypto'
import { callerGuard, type Guard } from '@plinth/kit/http'
import type { RunningService } from '../../services.ts'

const ADMINISTRATOR = 'ROLE_ADMIN'
const ANSWER_MS = 3_000

type Account = { id: number; username: string; roles: string[] }

type Identity = Pick<RunningService, 'url' | 'server'>

/**
 * Admits administrators of identity. It asks identity itself, so that a role that was taken away counts at once. The
 * page does so every few seconds: among the last requests of identity, that would push out all others.
 */
export function administratorGuard({ url, server }: Identity): Guard {
  return callerGuard(async (token) => {
    const requestId = randomUUID()
    server.leaveOutOfRecent(requestId)
    const reply = await fetch(`${url}/api/users/me`, {
      headers: { authorization: `Bearer ${token}`, 'x-request-id': requestId },
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    if (!reply.ok) return undefined
    const { id, username, roles } = (await reply.json()) as Account
    return { userId: String(id), username, roles, sessionId: '' }
  }).role(ADMINISTRATOR)
}
