import { signal } from '@preact/signals'
import { prove } from '../shared/account/session/proving.ts'
import { createSession } from '../shared/account/session/session.ts'
import type { IdentityReplies } from './replies.ts'

// Watching a token expire is part of what this console teaches, so it does not renew tokens by itself.
export const session = createSession<IdentityReplies>({ renewsItself: false, prove })

/** What the visitor has done so far; the overview shows these steps as done. */
export const firstSteps = { passkeyAdded: signal(false), passkeyUsed: signal(false) }
