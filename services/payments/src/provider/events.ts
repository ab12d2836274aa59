import { createHash } from 'node:crypto'
import { eventMalformed } from '../problems.ts'
import { isObject } from './objects.ts'
import type { ListedEvent, ProviderEvent } from './provider.ts'

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
// PostgreSQL cannot store NUL, nor half a character.
const NAME = /^[^\p{Cc}\p{Cs}]{1,255}$/u

/** The bytes of a proven delivery as an event, and as the text that is kept. */
export function parseEvent(bytes: Uint8Array): { event: ProviderEvent; body: string } {
  const { raw, body } = parseJson(bytes)
  return { event: readEvent(raw), body }
}

function parseJson(bytes: Uint8Array): { raw: unknown; body: string } {
  try {
    const body = DECODER.decode(bytes)
    return { raw: JSON.parse(body), body }
  } catch (cause) {
    throw eventMalformed({ cause })
  }
}

export function readEvent(raw: unknown): ProviderEvent {
  if (!isEvent(raw)) throw eventMalformed()
  return {
    id: raw.id,
    type: raw.type,
    created: typeof raw.created === 'number' ? raw.created : 0,
    liveMode: typeof raw.livemode === 'boolean' ? raw.livemode : null,
    object: raw.data.object,
  }
}

type Envelope = {
  id: string
  type: string
  created?: unknown
  livemode?: unknown
  data: { object: Record<string, unknown> }
}

function isEvent(raw: unknown): raw is Envelope {
  if (!isObject(raw)) return false
  const { id, type, object = 'event', data } = raw
  return isName(id) && isName(type) && object === 'event' && isObject(data) && isObject(data.object)
}

/** Nobody signed for an event of a list, so one that makes no sense must not hide the others. */
export function readListedEvent(raw: unknown): ListedEvent {
  const body = JSON.stringify(raw)
  const { id, type } = isObject(raw) ? raw : {}
  return {
    id: isName(id) ? id : `unreadable:${createHash('sha256').update(body).digest('hex')}`,
    type: isName(type) ? type : 'unreadable',
    event: isEvent(raw) ? readEvent(raw) : undefined,
    body,
  }
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && NAME.test(value)
}
