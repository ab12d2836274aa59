import { randomInt } from 'node:crypto'
import { countFrom, type Origin, takeBackFrom, throttled } from '@plinth/accounts'
import { HOUR_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import type { Client } from '../database/clients.repository.ts'
import { findWaitingDevice, insertDevice } from '../database/devices.repository.ts'
import { DEVICE_SECONDS, MAX_WRONG_DEVICE_CODES_AN_HOUR } from '../limits.ts'
import { requestInvalid } from '../oauth/problems.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { grantableScopes } from './authorization-request.ts'
import { openAuthorization, showAuthorization } from './authorizations.ts'
import { type Browser, browserHash, type NewCookie } from './browser-sessions.ts'
import { findKnownClient } from './known-clients.ts'
import type { OpenId } from './openid.ts'
import { hasRepeated, type Parameters } from './parameters.ts'
import { admitPending } from './pending-limit.ts'
import { scopeNotGranted, targetInvalid, userCodeUnknown } from './problems.ts'
import { mayAskFor } from './resources.ts'

/** Consonants, so that no code is a word, and none that look alike (RFC 8628, section 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const CODE_LENGTH = 8
const INTERVAL_SECONDS = 5
const MAX_TRIES = 5

/** RFC 8628: a code for the device to wait with, and one for its user to type. */
export async function requestDevice(
  openid: OpenId,
  client: Client,
  form: Parameters,
  origin: Origin,
) {
  const { address, userAgent } = origin
  if (hasRepeated(form)) throw requestInvalid({ detail: 'A parameter is repeated.' })
  const scopes = grantableScopes(client, form)
  if (scopes.length === 0) throw scopeNotGranted()
  const resources = [...new Set(form.getAll('resource'))].filter((one) => one !== '')
  if (!mayAskFor(openid, client, resources)) throw targetInvalid()
  if (client.authMethod === 'none') await admitPending(openid, 'device', origin)
  const deviceCode = newOpaqueToken()
  const userCode = await withFreeCode((code) =>
    insertDevice(openid.db, {
      deviceHash: hashOpaqueToken(deviceCode),
      userCode: code,
      clientId: client.clientId,
      scope: scopes.join(' '),
      resources: JSON.stringify(resources),
      state: 'pending',
      sessionId: null,
      intervalSeconds: INTERVAL_SECONDS,
      polledAt: null,
      address,
      userAgent,
      expiresAt: secondsAfter(openid.clock(), DEVICE_SECONDS).toISOString(),
    }),
  )
  const page = `${openid.publicUrl}/account/device`
  return {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?code=${userCode}`,
    expires_in: DEVICE_SECONDS,
    interval: INTERVAL_SECONDS,
  }
}

async function withFreeCode(insert: (code: string) => Promise<boolean>): Promise<string> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const code = newUserCode()
    if (await insert(code)) return code
  }
  throw new Error('No free user code was found')
}

function newUserCode(): string {
  const letters = Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)])
  return `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`
}

/** People type codes in any case, with or without the dash. */
function normalCode(text: string): string {
  const letters = text.toUpperCase().replace(/[^A-Z]/g, '')
  return `${letters.slice(0, 4)}-${letters.slice(4)}`
}

/** The request of a device, for the browser in which its user has typed the code. */
export async function openDevice(
  openid: OpenId,
  userCode: string,
  browser: Browser,
  origin: Origin,
) {
  const { accounts, db, clock } = openid
  const allowance = {
    kind: 'user code',
    limit: MAX_WRONG_DEVICE_CODES_AN_HOUR,
    seconds: HOUR_SECONDS,
  }
  const beyond = await countFrom(accounts, allowance, { event: 'ACCESS_DENIED' }, origin)
  if (beyond) throw throttled(accounts, beyond)
  const device = await findWaitingDevice(db, normalCode(userCode), clock())
  const client = device && (await findKnownClient(openid, device.clientId))
  if (!device || !client) throw userCodeUnknown()
  await takeBackFrom(accounts, allowance, origin)
  await admitPending(openid, 'authorization', origin)
  const cookie = browser.cookie ?? newOpaqueToken()
  const request: AuthorizationRequest = {
    redirectUri: '',
    responseMode: 'query',
    scopes: device.scope.split(' '),
    resources: JSON.parse(device.resources),
    prompts: [],
    device: {
      hash: device.deviceHash,
      address: device.address,
      userAgent: device.userAgent,
    },
  }
  const hash = browserHash({ cookie }) ?? ''
  const id = await openAuthorization(openid, { client, request, browserHash: hash })
  const shown = await showAuthorization(openid, id, { cookie })
  const fresh: NewCookie | undefined = browser.cookie === undefined ? { value: cookie } : undefined
  return { shown, cookie: fresh }
}
