import { signal } from '@preact/signals'
import { prove } from '../shared/account/session/proving.ts'
import { createSession } from '../shared/account/session/session.ts'

// Watching a token expire is part of what this console teaches, so it does not renew tokens by itself.
export const session = createSession({ renewsItself: false, prove })

/** What the visitor has done so far; the overview shows these steps as done. */
export const firstSteps = { passkeyAdded: signal(false), passkeyUsed: signal(false) }
