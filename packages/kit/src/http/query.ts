import type { TUnsafe } from 'typebox'
import { validationFailed } from '../problems.ts'
import { textIn } from './page.ts'
import { Type } from './schema.ts'

const TIME = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:[0-5]\\d(\\.\\d{1,3})?Z$'

/** A query parameter that `momentIn` reads, for the API document. */
export function moment(description: string): TUnsafe<string> {
  return Type.Unsafe<string>({
    anyOf: [
      { type: 'string', format: 'date' },
      { type: 'string', format: 'date-time', pattern: TIME },
    ],
    description,
    examples: ['2030-01-01T12:00:00Z'],
  })
}

const DAY = /^\d{4}-\d\d-\d\d$/

/** A time as it is stored; a day is its beginning in UTC. */
export function momentIn(query: unknown, name: string): string | undefined {
  const text = textIn(query, name)
  if (text === undefined) return undefined
  const time = DAY.test(text) ? `${text}T00:00:00Z` : text
  const at = new Date(new RegExp(TIME).test(time) ? time : Number.NaN)
  // A `Date` turns February 30 and hour 24 into a later day.
  if (!Number.isNaN(at.getTime()) && at.toISOString().startsWith(time.slice(0, 19)))
    return at.toISOString()
  throw validationFailed([`${name}: must be a day, or a time such as 2030-01-01T12:00:00Z`])
}

const MAX_WHOLE_NUMBER = 999_999_999_999_999

/** A query parameter that `wholeNumberIn` reads, for the API document. */
export function wholeNumber(description: string) {
  return Type.Integer({ minimum: 0, maximum: MAX_WHOLE_NUMBER, description })
}

export function wholeNumberIn(query: unknown, name: string): number | undefined {
  const text = textIn(query, name)
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw validationFailed([`${name}: must be a whole number`])
}
