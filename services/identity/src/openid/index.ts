import type { AccountGuard } from '@plinth/accounts'
import { type Job, startJob } from '@plinth/kit/database'
import type { Guard, Server } from '@plinth/kit/http'
import { DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import {
  deleteExpiredRequests,
  deleteOldestPending,
} from '../database/authorizations.repository.ts'
import {
  deleteUnusedDocuments,
  deleteUnusedRegistrations,
} from '../database/client-documents.repository.ts'
import { deleteOldDevices } from '../database/devices.repository.ts'
import { deleteOldHintKeys } from '../database/hint-keys.repository.ts'
import { deleteExpiredSignOuts } from '../database/sign-outs.repository.ts'
import {
  ENDED_DEVICES_SECONDS,
  KEPT_DOCUMENT_SECONDS,
  MAX_PENDING_IN_ALL,
  UNUSED_REGISTRATION_SECONDS,
  USED_CODES_SECONDS,
} from '../limits.ts'
import { authorizationRoutes } from './authorizations.routes.ts'
import { authorizeRoutes } from './authorize.routes.ts'
import { startBackChannel } from './back-channel.ts'
import { clientRegistrationRoutes } from './client-registration.routes.ts'
import { clientRoutes } from './clients.routes.ts'
import { deviceRoutes } from './devices.routes.ts'
import { grantRoutes } from './grants.routes.ts'
import type { OpenId } from './openid.ts'
import { pushedRequestRoutes } from './pushed-requests.routes.ts'
import { signOutRoutes } from './sign-out.routes.ts'
import { userInfoRoutes } from './userinfo.routes.ts'

/** The OpenID provider: its routes, and the job that deletes what has expired. */
export function mountOpenId(
  server: Server,
  openid: OpenId,
  { delivers, ...guards }: { guard: AccountGuard; recent: Guard; delivers: boolean },
): void {
  authorizeRoutes(server, openid)
  authorizationRoutes(server, openid)
  pushedRequestRoutes(server, openid)
  userInfoRoutes(server, openid)
  signOutRoutes(server, openid)
  deviceRoutes(server, openid)
  clientRoutes(server, openid, guards)
  clientRegistrationRoutes(server, openid)
  grantRoutes(server, openid, guards.guard)
  server.onClose(startOpenIdSweep(openid, server).stop)
  if (delivers) server.onClose(startBackChannel(openid, server).stop)
}

const SWEEP_SECONDS = 60

function startOpenIdSweep(
  { accounts, db, clock, idTokenKeys }: OpenId,
  { log, metrics }: Server,
): Job {
  return startJob({
    db,
    name: 'identity-openid-sweep',
    everySeconds: SWEEP_SECONDS,
    log,
    metrics,
    run: async (signal) => {
      const now = clock()
      const codesBefore = secondsAfter(now, -USED_CODES_SECONDS)
      await deleteExpiredRequests(db, { now, codesBefore }, signal)
      await deleteOldestPending(db, MAX_PENDING_IN_ALL, signal)
      await deleteExpiredSignOuts(db, now, signal)
      await deleteOldDevices(db, secondsAfter(now, -ENDED_DEVICES_SECONDS), signal)
      await deleteUnusedDocuments(db, secondsAfter(now, -KEPT_DOCUMENT_SECONDS))
      await deleteUnusedRegistrations(db, secondsAfter(now, -UNUSED_REGISTRATION_SECONDS))
      const { keyRotationDays, sessionMaxDays } = accounts.settings
      // A day more, because uses are noted once a day.
      const hintSeconds = (sessionMaxDays + 1) * DAY_SECONDS
      await deleteOldHintKeys(db, secondsAfter(now, -hintSeconds), signal)
      await idTokenKeys.rotateWhenOlderThan(keyRotationDays * DAY_SECONDS)
    },
  })
}
