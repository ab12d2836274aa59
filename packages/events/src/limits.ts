import { DAY_SECONDS } from '@plinth/kit/runtime'

export const MAX_ENDPOINTS = 20
/** Replaced secrets that an endpoint may have, and how long one still signs. */
export const MAX_OLD_SECRETS = 10
export const OVERLAP_SECONDS = DAY_SECONDS

/** Receivers must accept 20,000 bytes: this leaves room for what `placeNext` adds around the data. */
export const MAX_DATA_BYTES = 19_400

/** How long an endpoint may take to answer, unless set. */
export const TIMEOUT_MS = 15_000
/** Attempts in flight to one endpoint. */
export const MAX_AT_ONCE = 4
/** A longer reply is cut off, and its connection is not reused. */
export const MAX_REPLY_BYTES = 65_536
/** The longest pause that an endpoint can ask for. */
export const MAX_RETRY_AFTER_SECONDS = DAY_SECONDS
/** An endpoint whose attempts have all failed for this long is paused. */
export const PAUSE_AFTER_MS = 5 * DAY_SECONDS * 1000
/** Far longer than an attempt takes; the rest is the clock skew allowed between nodes. */
export const LEASE_SECONDS = 60

export const MAX_STREAMS = 100
/** Reports about one event. A reader retries every second while its receiver is down. */
export const MAX_FORWARDS = 20
