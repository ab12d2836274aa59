import {
  type Authenticate,
  createIntrospection,
  createRemoteIssuer,
  protectedResourceRoutes,
  rememberUsers,
  type Server,
  startErasure,
} from '@plinth/kit'
import type { PaymentsConfig } from '../config.ts'
import type { Payments } from '../payment/context.ts'
import { renameActor } from '../payment/database/observations.repository.ts'

type Issuer = NonNullable<PaymentsConfig['issuer']> & Pick<PaymentsConfig, 'publicUrl'>

/**
 * Users of the issuer as callers. Everything here asks for a role, so the issuer is asked who a user is
 * now; and whom it has erased is forgotten here, where only names are kept of users.
 */
export function issuerCallers(
  server: Server,
  { db, clock, log }: Payments,
  { publicUrl, issuer, key, audience, plainJwt }: Issuer,
): Authenticate {
  protectedResourceRoutes(server, { publicUrl, issuer })
  const tokens = createRemoteIssuer({ issuer, audience, plainJwt, clock })
  const remember = rememberUsers(db, issuer)
  if (key === undefined) {
    server.announcements.push(
      'a disabled user stays a caller for up to 15 minutes, and names of erased users stay: set PAYMENTS_REQUIRE_ISSUER_KEY',
    )
    return async (token) => {
      const subject = await tokens.verify(token)
      if (subject) await remember(subject)
      return subject
    }
  }
  const { check, deletedUsers } = createIntrospection({ issuer, key, clock })
  const erased = {
    db,
    clock,
    issuer,
    deletedUsers,
    eraseUser: async () => {},
    forgetName: (inside: Payments['db'], username: string, userId: string) =>
      renameActor(inside, username, { to: `user ${userId}`, now: clock() }),
  }
  server.onClose(startErasure(erased, { log, metrics: server.metrics }).stop)
  return async (token) => {
    const subject = await tokens.verify(token)
    const user = subject && (await check(token))
    const caller = user && { ...subject, ...user }
    if (caller) await remember(caller)
    return caller
  }
}
