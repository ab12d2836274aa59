import { signal } from '@preact/signals'

/** What the visitor has done so far; the overview ticks it off. */
export const firstSteps = { passkeyAdded: signal(false), passkeyUsed: signal(false) }
