export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'plain'

/** The tone of an HTTP status; 0 means that no answer came. */
export function statusTone(status: number): Tone {
  if (status === 0 || status >= 500) return 'bad'
  return status >= 400 ? 'warn' : 'good'
}

const GOOD_RESULTS = new Set(['SUCCESS', 'UNCHANGED'])

/** The tone of a security event. An unknown result must not look harmless. */
export function resultTone(result: string): Tone {
  return GOOD_RESULTS.has(result) ? 'good' : 'bad'
}
