import { isTooDeep } from '@plinth/kit/http'
import { eventMalformed } from './problems.ts'
import type { Metadata, RefundStatus } from './provider.ts'

/** Reads single values of what a provider sends: each is either fit to be stored or counts as absent. */

export type Raw = Record<string, unknown>

export function isObject(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** PostgreSQL cannot store NUL: text with it counts as absent. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0')
}

export function textOf(value: unknown): string | null {
  return isText(value) && value !== '' ? value : null
}

// PostgreSQL cannot store NUL or a lone surrogate.
const NAME = /^[^\p{Cc}\p{Cs}]{1,255}$/u

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && NAME.test(value)
}

const MAX_CURRENCY = 8

/** One that cannot be stored must not count as absent, which would mean that it is the expected one. */
export function currencyOf(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null
  return value.toLowerCase().replaceAll('\0', '\ufffd').slice(0, MAX_CURRENCY)
}

const MAX_REASON = 64

export function reasonOf(value: unknown): string | null {
  return textOf(value)?.toLowerCase().slice(0, MAX_REASON) ?? null
}

export function numberOf(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) : null
}

export function oneOf<const T extends string>(value: unknown, options: readonly T[]): T | null {
  return options.find((option) => option === value) ?? null
}

export function metadataOf(value: unknown): Metadata {
  const entries = isObject(value) ? Object.entries(value) : []
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => isText(entry[1])))
}

/** An unknown status counts as pending: it reserves the amount, but moves no money. */
export function refundStatusOf(text: string | null | undefined): RefundStatus {
  const known = ['requires_action', 'pending', 'succeeded', 'failed', 'canceled'] as const
  return oneOf(text?.toLowerCase(), known) ?? 'pending'
}

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Parses the bytes of a verified delivery; `body` is the text to store. */
export function parseJson(bytes: Uint8Array): { raw: unknown; body: string } {
  try {
    const body = DECODER.decode(bytes)
    if (isTooDeep(body)) throw new Error('The event is nested too deeply.')
    return { raw: JSON.parse(body), body }
  } catch (cause) {
    throw eventMalformed({ cause })
  }
}
