import type { Fault } from './controls.ts'

type Choice = { value: string; label: string }

export const KINDS: Choice[] = [
  { value: 'outage', label: 'Outage: every connection breaks' },
  { value: 'latency', label: 'Slow: the answer takes three seconds' },
  { value: 'error-before', label: '500, and nothing was done' },
  { value: 'error-after', label: '500, although it was done' },
  { value: 'reset-after', label: 'Done, but the connection breaks before the answer' },
  { value: 'rate-limit', label: '429: slow down' },
  { value: 'unauthorized', label: '401: the key is refused' },
]

export const ROUTES: Choice[] = [
  { value: '*', label: 'Every call' },
  { value: 'POST /v1/checkout/sessions', label: 'Creating a checkout' },
  { value: 'POST /v1/refunds', label: 'Refunding' },
  { value: 'GET *', label: 'Everything that only reads' },
]

/** The service tries a failed call twice more by itself. */
export const TIMES: Choice[] = [
  { value: '', label: 'Until it is removed' },
  { value: '1', label: 'Once, which a retry heals' },
  { value: '3', label: 'Three times: a call and its retries' },
]

const labelOf = (choices: Choice[], value: string) =>
  choices.find((choice) => choice.value === value)?.label ?? value

export const kindText = ({ kind }: Fault): string => labelOf(KINDS, kind)
export const routeText = ({ route }: Fault): string => labelOf(ROUTES, route)

export function timesText({ remaining }: Fault): string {
  if (remaining === null) return 'until removed'
  return remaining === 1 ? 'once more' : `${remaining} times more`
}
