import { validationFailed } from '@plinth/kit'

/** An id from a path: digits without a leading zero, no larger than a number holds exactly. */
export function idFrom(text: string, name = 'id'): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(id)) throw validationFailed([`${name}: must be a positive integer`])
  return id
}
