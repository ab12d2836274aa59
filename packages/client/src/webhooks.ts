import type * as identity from './generated/identity.ts'
import type * as payments from './generated/payments.ts'
import type * as storage from './generated/storage-full.ts'

/** An event that a service sends when something has happened. */
export type WebhookEvent<Type extends string = string, Data = Record<string, unknown>> = {
  id: string
  type: Type
  timestamp: string
  source: string
  subject: string
  /** Increases for each subject: an event with a smaller number than you have seen is stale. */
  sequence: number
  apiVersion: string
  data: Data
}

/** The content of `data`, by event type. */
export type EventData = identity.EventData & storage.EventData & payments.EventData

/** An event of any type that the services send: `type` determines the type of `data`. */
export type PlinthEvent = {
  [Type in keyof EventData]: WebhookEvent<Type, EventData[Type]>
}[keyof EventData]

export type WebhookFault = 'MISSING_HEADER' | 'BAD_TIMESTAMP' | 'TOO_OLD' | 'TOO_NEW' | 'NO_MATCH'

export class WebhookError extends Error {
  readonly code: WebhookFault

  constructor(code: WebhookFault, message: string) {
    super(message)
    this.name = 'WebhookError'
    this.code = code
  }
}

type HeaderValues =
  | { get(name: string): string | null }
  | Record<string, string | string[] | undefined>

export type WebhookRequest = {
  /** `whsec_…`; during a rotation the old one and the new one. */
  secrets: string | string[]
  headers: HeaderValues
  /** Exactly as received, byte for byte. */
  body: string | Uint8Array
  /** How far the sender's clock may differ from ours. Default 300. */
  toleranceSeconds?: number | undefined
  /** Unix seconds. */
  now?: (() => number) | undefined
}

const PREFIX = /^whsec_/
const TIMESTAMP = /^\d{1,12}$/
// Not performance.now(): it stands still while the machine sleeps.
const unixNow = () => Date.now() / 1000

/**
 * Verifies a Standard Webhooks 1.0 signature and returns the event. Remember `webhook-id` for four
 * days and ignore an id you have seen: a delivery is repeated until you answer 2xx.
 * @example
 * const event = await verifyWebhook({ secrets: 'whsec_…', headers: request.headers, body: await request.text() })
 */
export async function verifyWebhook<Event = PlinthEvent>(request: WebhookRequest): Promise<Event> {
  const { secrets, headers, toleranceSeconds = 300, now = unixNow } = request
  const body = bytesOf(request.body)
  const id = required(headers, 'webhook-id')
  const timestamp = required(headers, 'webhook-timestamp')
  const signatures = required(headers, 'webhook-signature')
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .map((signature) => fromBase64(signature.slice('v1,'.length)))
  requireInTime(timestamp, now(), toleranceSeconds)

  const signed = joined(utf8(`${id}.${timestamp}.`), body)
  for (const secret of [secrets].flat()) {
    const key = await hmacKey(secret)
    // WebCrypto compares in constant time.
    for (const signature of signatures)
      if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed)))
        return JSON.parse(new TextDecoder().decode(body)) as Event
  }
  throw new WebhookError('NO_MATCH', 'No signature of the webhook matches its body and the secrets')
}

function bytesOf(body: unknown): Bytes {
  if (typeof body === 'string') return utf8(body)
  if (body instanceof Uint8Array) return new Uint8Array(body)
  throw new TypeError(
    'verifyWebhook needs the body as received, as text or bytes, but got a parsed one: ' +
      'read it before a JSON parser does (express.raw, request.text())',
  )
}

function required(headers: HeaderValues, name: string): string {
  const value = typeof headers.get === 'function' ? headers.get(name) : ofRecord(headers, name)
  if (typeof value === 'string' && value !== '') return value
  throw new WebhookError('MISSING_HEADER', `The webhook has no header ${name}`)
}

function ofRecord(headers: HeaderValues, name: string): string | undefined {
  const entries = Object.entries(headers as Record<string, string | string[] | undefined>)
  const value = entries.find(([key]) => key.toLowerCase() === name)?.[1]
  return Array.isArray(value) ? value[0] : value
}

function requireInTime(timestamp: string, now: number, tolerance: number): void {
  if (!TIMESTAMP.test(timestamp))
    throw new WebhookError('BAD_TIMESTAMP', 'The timestamp of the webhook is not in Unix seconds')
  const age = now - Number(timestamp)
  if (age > tolerance) throw new WebhookError('TOO_OLD', 'The webhook was signed too long ago')
  if (age < -tolerance) throw new WebhookError('TOO_NEW', 'The webhook was signed in the future')
}

/** Without a secret it throws: a runtime that accepts an empty key would let anyone sign. */
function hmacKey(secret: string | undefined): Promise<CryptoKey> {
  const bytes = fromBase64(secret?.replace(PREFIX, '') ?? '')
  if (!bytes?.length) throw new TypeError('A webhook secret must be whsec_ followed by base64')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

type Bytes = Uint8Array<ArrayBuffer>

function utf8(text: string): Bytes {
  return new TextEncoder().encode(text) as Bytes
}

function joined(first: Bytes, second: Bytes): Bytes {
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}

function fromBase64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
