import { rememberUsers, startErasure } from '@plinth/erased-users'
import { inTransaction } from '@plinth/kit/database'
import { type Authenticate, protectedResourceRoutes, type Server } from '@plinth/kit/http'
import { createIntrospection, createRemoteIssuer } from '@plinth/kit/tokens'
import type { PaymentsConfig } from '../config.ts'
import type { Payments } from '../payment/context.ts'
import { renameActor } from '../payment/database/observations.repository.ts'

type Issuer = NonNullable<PaymentsConfig['issuer']> & Pick<PaymentsConfig, 'publicUrl'>

/**
 * Authenticates the issuer's users. Every route requires a role, so the issuer is asked for the user's
 * current state. Users it has erased are forgotten here too; only their names are stored here.
 */
export function issuerCallers(
  server: Server,
  { db, clock, log }: Payments,
  { publicUrl, issuer, key, audience, plainJwt }: Issuer,
): Authenticate {
  protectedResourceRoutes(server, { publicUrl, issuer })
  const tokens = createRemoteIssuer({ issuer, audience, plainJwt, clock })
  const remember = rememberUsers(db, issuer, log)
  if (key === undefined) {
    server.announcements.push(
      'a disabled user can still call for up to 15 minutes, and names of erased users are kept: set PAYMENTS_REQUIRE_ISSUER_KEY',
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
    forgetName: (username: string, userId: string) =>
      inTransaction(db, (inside) =>
        renameActor(inside, username, { to: `user ${userId}`, now: clock() }),
      ),
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
