import { DAY_SECONDS } from '@plinth/kit/runtime'

/** Bad keys from one network in a window. */
export const MAX_FAILURES = 30
export const WINDOW_SECONDS = 60
/** Networks that are counted at the same time; beyond that the oldest are forgotten. */
export const MAX_COUNTS = 10_000

/** How long a key still works beside its successor. */
export const DEFAULT_OVERLAP_SECONDS = DAY_SECONDS
export const MAX_OVERLAP_SECONDS = 7 * DAY_SECONDS

/** Of a key that an operator has chosen. */
export const CHOSEN_KEY_SECONDS = 3650 * DAY_SECONDS
