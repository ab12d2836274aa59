import { eventMalformed } from '../problems.ts'
import { isObject } from './objects.ts'
import type { ProviderEvent } from './provider.ts'

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
// PostgreSQL cannot store NUL, nor half a character.
const NAME = /^[^\p{Cc}\p{Cs}]{1,255}$/u

/** The bytes of a proven delivery as an event. */
export function parseEvent(body: Uint8Array): ProviderEvent {
  return readEvent(parseJson(body))
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(DECODER.decode(body))
  } catch (cause) {
    throw eventMalformed({ cause })
  }
}

export function readEvent(raw: unknown): ProviderEvent {
  if (!isObject(raw)) throw eventMalformed()
  const { id, type, object = 'event', data } = raw
  if (!isName(id) || !isName(type) || object !== 'event') throw eventMalformed()
  if (!isObject(data) || !isObject(data.object)) throw eventMalformed()
  return {
    id,
    type,
    created: typeof raw.created === 'number' ? raw.created : 0,
    liveMode: typeof raw.livemode === 'boolean' ? raw.livemode : null,
    object: data.object,
  }
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && NAME.test(value)
}
