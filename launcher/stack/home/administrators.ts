import { callerGuard, type Guard } from '@plinth/kit/http'
import type { RunningService } from '../../services.ts'

const ADMINISTRATOR = 'ROLE_ADMIN'
const ANSWER_MS = 3_000

type Account = { id: number; username: string; roles: string[] }

/** Admits administrators of identity. It asks identity itself, so that a role that was taken away counts at once. */
export function administratorGuard({ url }: Pick<RunningService, 'url'>): Guard {
  return callerGuard(async (token) => {
    const reply = await fetch(`${url}/api/users/me`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    if (!reply.ok) return undefined
    const { id, username, roles } = (await reply.json()) as Account
    return { userId: String(id), username, roles, sessionId: '' }
  }).role(ADMINISTRATOR)
}
