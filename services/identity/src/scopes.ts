import { ACCOUNT_SCOPES } from '@plinth/accounts'
import { EVENT_SCOPES } from '@plinth/events'

/** What a service key of identity may be allowed to do. */
export const SCOPES = ['tokens:introspect', ...ACCOUNT_SCOPES, ...EVENT_SCOPES] as const

export type Scope = (typeof SCOPES)[number]
