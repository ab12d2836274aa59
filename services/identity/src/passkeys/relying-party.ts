import { isIP } from 'node:net'
import type { Settings } from '@plinth/kit/runtime'

/**
 * Passkeys belong to this domain (`id`) and work on these origins: pages at the domain or below it, Android
 * apps, and pages elsewhere that are listed at `/.well-known/webauthn`.
 */
export type RelyingParty = {
  id: string
  name: string
  origins: string[]
  relatedOrigins?: string[]
}

export type UserVerification = 'preferred' | 'required'

/** A passkey may be the only factor, so production requires user verification by default. */
export function userVerification(settings: Settings): UserVerification {
  const usual = settings.production ? 'required' : 'preferred'
  return settings.choice(NAMES.verification, ['preferred', 'required'], usual)
}

const NAMES = {
  switch: 'IDENTITY_PASSKEYS',
  id: 'IDENTITY_PASSKEY_RP_ID',
  name: 'IDENTITY_PASSKEY_RP_NAME',
  origins: 'IDENTITY_PASSKEY_ORIGINS',
  related: 'IDENTITY_PASSKEY_RELATED_ORIGINS',
  verification: 'IDENTITY_PASSKEY_USER_VERIFICATION',
}

/**
 * Browsers report a wrong domain or origin with an unhelpful error, so both are checked at startup. Explicit
 * settings must be right; a default address that cannot have passkeys, such as an IP address, switches
 * them off.
 */
export function relyingParty(settings: Settings, publicUrl: string): RelyingParty | undefined {
  if (!settings.flag(NAMES.switch, true)) return undefined
  const id = settings.text(NAMES.id, new URL(publicUrl).hostname)
  const origins = settings.list(NAMES.origins, [new URL(publicUrl).origin])
  const relatedOrigins = settings.list(NAMES.related, [])
  const party = {
    id,
    name: settings.text(NAMES.name, 'Plinth'),
    origins: [...origins, ...relatedOrigins],
    ...(relatedOrigins.length > 0 && { relatedOrigins }),
  }
  const faults = [
    ...idFaults(id),
    ...origins.flatMap((origin) => originFaults(origin, id)),
    ...relatedOrigins.flatMap(relatedFaults),
  ]
  if (faults.length === 0) return party
  const isExplicit = [NAMES.switch, NAMES.id, NAMES.origins, NAMES.related].some((name) =>
    settings.optional(name),
  )
  if (!isExplicit) return undefined
  for (const [name, expected, example] of faults) settings.fault(name, expected, example)
  return party
}

type Fault = [name: string, expected: string, example: string]

function idFaults(id: string): Fault[] {
  const expected = isIP(id.replace(/^\[|\]$/g, ''))
    ? `Browsers have no passkeys for an IP address (${id}). Use a host name, or switch passkeys off.`
    : `"${id}" is not a host name. Leave out scheme, port and path.`
  const isHostName = /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i.test(id)
  return isHostName && !isIP(id) ? [] : [[NAMES.id, expected, 'example.org']]
}

/** The SHA-256 of the certificate that signs the app. */
const ANDROID_ORIGIN = /^android:apk-key-hash:[A-Za-z0-9_-]{43}$/

function relatedFaults(origin: string): Fault[] {
  const isHttps = URL.canParse(origin) && new URL(origin).protocol === 'https:'
  if (isHttps && new URL(origin).origin === origin) return []
  const expected = `"${origin}" is not an https origin: scheme, host and port, nothing after them.`
  return [[NAMES.related, expected, 'https://example.net']]
}

function originFaults(origin: string, id: string): Fault[] {
  const fault = (expected: string): Fault[] => [[NAMES.origins, expected, `https://${id}`]]
  if (origin.startsWith('android:'))
    return ANDROID_ORIGIN.test(origin)
      ? []
      : fault(`"${origin}" is not android:apk-key-hash: and 43 characters of base64url.`)
  if (!URL.canParse(origin) || new URL(origin).origin !== origin)
    return fault(`"${origin}" is not an origin: scheme, host and port, nothing after them.`)
  const { protocol, hostname } = new URL(origin)
  if (hostname !== id && !hostname.endsWith(`.${id}`))
    return fault(`"${origin}" is not at ${id} or below it, so its pages may not use its passkeys.`)
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (protocol !== 'https:' && !isLocal)
    return fault(`"${origin}" must be https: browsers offer passkeys over http at localhost only.`)
  return []
}
