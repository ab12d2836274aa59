import { reauthenticationRequired } from '../problems.ts'
import { type Clock, MINUTE_SECONDS, secondsAfter } from '../runtime/clock.ts'
import type { Guard } from './framework.ts'
import { guarding } from './guards.ts'

/** How long a sign-in or reauthentication counts as recent. */
export const RECENT_SECONDS = 10 * MINUTE_SECONDS

type Asking = { reauthenticate: boolean; clock: Clock }

/**
 * Runs after the caller's guard: a token of a session stolen an hour ago must not win a key, a role or a secret. The
 * token says when its user signed in; one that does not say is not recent. A service key has no session to be old.
 */
export function recentSignIn({ reauthenticate, clock }: Asking): Guard {
  return guarding({ schemes: {}, problems: [reauthenticationRequired] }, async ({ caller }) => {
    if (!reauthenticate || caller.sessionId === '') return
    const since = secondsAfter(clock(), -RECENT_SECONDS)
    if (!caller.authenticatedAt || caller.authenticatedAt <= since) throw reauthenticationRequired()
  })
}
