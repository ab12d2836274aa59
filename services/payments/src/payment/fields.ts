import { Type } from '@plinth/kit/http'
import type { TSchema } from 'typebox'

// PostgreSQL cannot store NUL, and a lone surrogate (\p{Cs}) can be neither stored nor sent. The patterns
// have only one star over STORABLE: with two, a long text would take quadratic time.
const STORABLE = '[^\\u0000\\p{Cs}]'
const STORABLE_TEXT = `^${STORABLE}*$`
const NOT_BLANK = `^(?!\\s*$)${STORABLE}*$`
const EMAIL_OR_BLANK = '^\\s*$|^\\s*[^\\s@\\p{Cc}\\p{Cs}]+@[^\\s@\\p{Cc}\\p{Cs}]+\\s*$'

/** For the API document. */
type Hints = { examples?: string[]; description?: string }

export function plainText(maxLength: number, hints: Hints = {}) {
  const message = 'must not be blank or contain NUL or a lone surrogate'
  return Type.String({ pattern: NOT_BLANK, message, maxLength, ...hints })
}

/** Absent, null, or any text that can be stored; blank counts as absent. */
export function optionalPlainText(maxLength: number) {
  return nullable(storableText(maxLength))
}

function storableText(maxLength: number) {
  const message = 'must not contain NUL or a lone surrogate'
  return Type.String({ pattern: STORABLE_TEXT, message, maxLength })
}

export function reference(hints: Hints = {}) {
  return plainText(100, hints)
}

export function currencyCode() {
  const message = 'must be a three-letter currency code'
  return Type.String({ pattern: '^[A-Za-z]{3}$', message, examples: ['eur'] })
}

export function optionalEmail() {
  const rule = { pattern: EMAIL_OR_BLANK, message: 'must be an e-mail address', maxLength: 254 }
  return nullable(Type.String({ ...rule, examples: ['ada@example.com'] }))
}

export function metadata(maxProperties: number) {
  const message = 'must have 1 to 40 characters, none of them [ or ]'
  const propertyNames = Type.String({ pattern: '^[^\\[\\]\\u0000\\p{Cs}]{1,40}$', message })
  const values = storableText(500)
  // A record's pattern does not match names with a line break: they count as additional properties.
  const examples = [{ cart: '17' }]
  const options = { maxProperties, propertyNames, additionalProperties: values, examples }
  return nullable(Type.Record(Type.String(), values, options))
}

export function nullable<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

/** A provider id in a path. Any other character could change the path that we call at the provider. */
export const ProviderIdParams = Type.Object({
  id: Type.String({
    pattern: '^[A-Za-z0-9_-]{1,255}$',
    message: 'must have 1 to 255 letters, digits, - or _',
    description: 'An id of the provider',
  }),
})

export const PaymentParams = Type.Object({
  id: Type.String({
    pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
    message: 'must be a UUID',
    examples: ['6f1f4c8e-2a59-4f0c-9d5e-3b7a1c2d4e5f'],
  }),
})

/** The provider takes an empty value as none and does not store the entry, so it is left out from the start. */
export function metadataOrNone(given?: Record<string, string> | null): Record<string, string> {
  return Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== ''))
}

/** The text of an optional field, or null when it is blank. */
export function textOrNull(value: string | null | undefined): string | null {
  return value?.trim() ? value : null
}
