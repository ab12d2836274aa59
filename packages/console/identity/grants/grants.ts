import type { Grant } from '@plinth/client'
import type { Api } from '../../shared/api/api.ts'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'

/** The grants of a user, and how to take one back. The account pages and the console show them in their own words. */
export function useGrants(api: Api, path: string, silent = false) {
  const grants = useLoad<Grant[]>(() => api.get(path, { silent }), [path])
  const revoke = useAction(
    (clientId: string) => api.delete(`${path}/${encodeURIComponent(clientId)}`),
    grants.reload,
  )
  return { grants, revoke }
}

export const OWN_GRANTS = '/api/users/me/grants'
