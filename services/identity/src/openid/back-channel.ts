import { revokeExpiredClients } from '@plinth/accounts'
import { createSender } from '@plinth/events'
import { type Job, startJob } from '@plinth/kit/database'
import type { Server } from '@plinth/kit/http'
import { failPoint, secondsAfter } from '@plinth/kit/runtime'
import { signClaims } from '@plinth/kit/tokens'
import {
  claimNotice,
  deleteNotice,
  type LogoutNotice,
  listDueNotices,
} from '../database/logout-notices.repository.ts'
import type { OpenId } from './openid.ts'

const EVERY_SECONDS = 3
/** How long the other nodes wait for one that has died: clients are told within ten seconds. */
const LEASE_SECONDS = 6
const TIMEOUT_MS = 5_000
const MAX_AT_ONCE = 50
const TOKEN_SECONDS = 120
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** How long after each failed attempt the next one follows. */
const RETRY_SECONDS = [5, 60]

/** OpenID Connect Back-Channel Logout: tells clients that a session of theirs has ended. */
export function startBackChannel(openid: OpenId, { log, metrics }: Server): Pick<Job, 'stop'> {
  const { send, close } = createSender(openid.addresses, TIMEOUT_MS)
  const count = metrics.counter({
    name: 'plinth_backchannel_logouts_total',
    help: 'Attempts to tell a client that a session has ended.',
    labels: ['result'],
  })
  for (const result of ['delivered', 'failed']) count({ result }, 0)
  const deliver = async (notice: LogoutNotice, signal: AbortSignal) => {
    const delay = RETRY_SECONDS[notice.attempts]
    const next = secondsAfter(openid.clock(), delay ?? 0)
    if (!(await claimNotice(openid.db, notice, next))) return
    failPoint('logout:claimed')
    const body = new URLSearchParams({ logout_token: await logoutToken(openid, notice) })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const { status } = await send(notice.address, { headers, body: String(body), signal })
    failPoint('logout:sent')
    const isDelivered = status !== null && status >= 200 && status < 300
    count({ result: isDelivered ? 'delivered' : 'failed' })
    if (isDelivered || delay === undefined) await deleteNotice(openid.db, notice.sessionId)
  }
  const job = startJob({
    db: openid.db,
    name: 'identity-backchannel-logout',
    everySeconds: EVERY_SECONDS,
    leaseSeconds: LEASE_SECONDS,
    log,
    metrics,
    run: async (signal) => {
      const now = openid.clock()
      await revokeExpiredClients(openid.db, now)
      const due = await listDueNotices(openid.db, now, MAX_AT_ONCE)
      await Promise.all(due.map((notice) => deliver(notice, signal)))
    },
  })
  const stop = async () => {
    await job.stop()
    close()
  }
  return { stop }
}

/** The id is that of the session, so that all attempts have the same. */
async function logoutToken(openid: OpenId, notice: LogoutNotice): Promise<string> {
  const { accounts, idTokenKeys, issuer, clock } = openid
  const { sessionId, userId, clientId, algorithm: alg } = notice
  const keys = alg === 'ES256' ? accounts.signingKeys : idTokenKeys
  const { kid, privateKey } = await keys.current()
  const iat = Math.floor(clock().getTime() / 1000)
  const claims = {
    iss: issuer,
    sub: String(userId),
    aud: clientId,
    iat,
    exp: iat + TOKEN_SECONDS,
    jti: `logout-${sessionId}`,
    sid: String(sessionId),
    events: { [EVENT]: {} },
  }
  return signClaims(claims, { alg, typ: 'logout+jwt', kid }, privateKey)
}
