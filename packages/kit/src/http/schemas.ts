import type { TNull, TOptional, TString, TUnion } from 'typebox'
import { Type } from './type.ts'

type TextLimits = { minLength?: number; maxLength?: number }

const NOT_BLANK = '\\S'

// Permissive on purpose: one @ with something on both sides; `a@localhost` is an address.
// Control characters and halves of a character are refused because PostgreSQL cannot store them.
const EMAIL = '^\\s*[^\\s@\\p{Cc}\\p{Cs}]+@[^\\s@\\p{Cc}\\p{Cs}]+\\s*$'

/** Present and not blank. */
export function requiredText(limits: TextLimits = {}): TString {
  return Type.String({ pattern: NOT_BLANK, message: 'must not be blank', ...limits })
}

/** May be absent or null. */
export function optionalText(limits: TextLimits = {}): TOptional<TUnion<[TString, TNull]>> {
  return Type.Optional(Type.Union([Type.String(limits), Type.Null()]))
}

export function emailText(maxLength = 254): TString {
  return Type.String({ pattern: EMAIL, message: 'must be an e-mail address', maxLength })
}

export function positiveInteger(maximum = Number.MAX_SAFE_INTEGER) {
  return Type.Integer({
    minimum: 1,
    maximum,
    message: `must be a whole number from 1 to ${maximum}`,
  })
}
