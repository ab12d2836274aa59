import type { UserSession } from '@plinth/client'
import type { Api } from '../../api/api.ts'
import { useAction, useLoad } from '../../api/use-reply.ts'

export function useOwnSessions(api: Api) {
  const sessions = useLoad<UserSession[]>(() => api.get('/api/users/me/sessions'))
  const end = useAction(async (id: number) => {
    const reply = await api.delete(`/api/users/me/sessions/${id}`)
    // The session has already ended by itself: treat it as ended.
    return reply.status === 404 ? undefined : reply
  }, sessions.reload)
  return { sessions, end }
}
