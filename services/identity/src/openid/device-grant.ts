import { lockUser, type Origin, sessionTimes } from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import { findBrowserSession } from '../database/client-sessions.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import {
  type DeviceRequest,
  findDevice,
  spendDevice,
  updatePoll,
} from '../database/devices.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { requestInvalid } from '../oauth/problems.ts'
import { isStillAllowed, narrowed, openClientSession } from './code-grant.ts'
import { DEVICE_CODE, type OpenId } from './openid.ts'
import { parameter, words } from './parameters.ts'
import {
  authorizationPending,
  deviceCodeExpired,
  deviceDenied,
  grantInvalid,
  slowDown,
} from './problems.ts'
import {
  type Given,
  prepareSigners,
  requireGrantType,
  type TokenReply,
  type TokenRequest,
  tokenReply,
} from './token.ts'

const SLOWER_SECONDS = 5

/** A device asks whether its user has decided (RFC 8628, section 3.4). */
export async function pollDevice(openid: OpenId, request: TokenRequest): Promise<TokenReply> {
  const client = await requireGrantType(openid, request, DEVICE_CODE)
  const code = parameter(request.form, 'device_code')
  if (code === undefined) throw requestInvalid({ detail: 'The parameter device_code is missing.' })
  const device = await findDevice(openid.db, hashOpaqueToken(code), client.clientId)
  if (!device || device.state === 'done') throw grantInvalid()
  await requireDecided(openid, device)
  const signers = await prepareSigners(openid, client)
  const resources = narrowed(JSON.parse(device.resources), request.form)
  const given = await inTransaction(openid.db, (db) =>
    redeem(openid, db, { client, device, resources, origin: request.origin }),
  )
  if (!given) throw grantInvalid()
  return tokenReply(openid, signers, given)
}

async function requireDecided({ db, clock }: OpenId, device: DeviceRequest): Promise<void> {
  const now = clock()
  if (device.state === 'denied') throw deviceDenied()
  if (device.expiresAt <= now.toISOString()) throw deviceCodeExpired()
  if (device.state !== 'pending') return
  const { polledAt, intervalSeconds } = device
  const isEarly = polledAt !== null && now < secondsAfter(new Date(polledAt), intervalSeconds)
  await updatePoll(db, device.deviceHash, { now, slowerBy: isEarly ? SLOWER_SECONDS : 0 })
  throw isEarly ? slowDown() : authorizationPending()
}

type Redemption = { client: Client; device: DeviceRequest; resources: string[]; origin: Origin }

/** An approval is a sign-in: everything that would end a session since then is looked at again. */
async function redeem(
  openid: OpenId,
  db: Db<IdentityTables>,
  { client, device, resources }: Redemption,
): Promise<Given | undefined> {
  const times = sessionTimes(openid.accounts)
  const id = Number(device.sessionId)
  const found = await findBrowserSession(db, { id }, times)
  const user = found && (await lockUser(db, found.user.id))
  const browser = user?.enabled ? await findBrowserSession(db, { id }, times) : undefined
  if (!browser) return undefined
  const allowed = { userId: browser.user.id, scope: device.scope, resources: device.resources }
  if (!(await isStillAllowed(db, client, allowed))) return undefined
  if (!(await spendDevice(db, device.deviceHash))) return undefined
  const opened = await openClientSession(openid, db, { client, code: device, browser })
  const { amr, authenticatedAt } = browser
  return {
    client,
    user: browser.user,
    ...opened,
    scopes: words(device.scope),
    resources,
    amr,
    authenticatedAt,
    nonce: null,
  }
}
