import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '@plinth/kit/runtime'

/** How long the one-time token of each purpose is valid. */
export const LIFETIME_SECONDS = {
  'verify-email': DAY_SECONDS,
  'password-reset': 30 * MINUTE_SECONDS,
  /** For invitations too. A separate kind, because anyone can request a reset and must not replace this one. */
  'password-reset-by-administrator': DAY_SECONDS,
  'email-change': HOUR_SECONDS,
  'email-undo': 7 * DAY_SECONDS,
  /** The answer to a notice: "this was not me". */
  'not-me': 7 * DAY_SECONDS,
  /** The same, in notices sent to the old address before it was changed. */
  'not-me-before': 7 * DAY_SECONDS,
  'data-export': DAY_SECONDS,
  /** After a refused login. */
  'password-change': 10 * MINUTE_SECONDS,
  'deletion-cancel': 10 * MINUTE_SECONDS,
  /** Lasts as long as the grace period (`expiresAt` overrides this). */
  'deletion-undo': 7 * DAY_SECONDS,
} as const

/** How long a mailed code is valid that signs in or confirms a sign-up. */
export const CODE_SECONDS = 10 * MINUTE_SECONDS

/** How long after it expires a link can still say why it does not work. */
export const ENDED_SECONDS = 7 * DAY_SECONDS

/** Per code, and per address and day for codes of any kind: beyond that only links work. */
export const MAX_CODE_FAILURES = 5
export const MAX_CODE_FAILURES_A_DAY = 20

/** Requests for a mail from one network. */
export const MAX_MAIL_REQUESTS_AN_HOUR = 30
/** Mails of one kind in total. */
export const MAX_MAILS_AN_HOUR = 500
/** Mails of one kind to one address. */
export const MAX_MAILS_PER_ADDRESS = [
  { seconds: MINUTE_SECONDS, most: 1 },
  { seconds: HOUR_SECONDS, most: 5 },
  { seconds: DAY_SECONDS, most: 10 },
]

/** Notices of one kind to one user: an attacker can cause some at no cost, and must not be able to flood an inbox. */
export const MAX_NOTICES = { seconds: HOUR_SECONDS, most: 10 }
export const MAX_BROWSER_NOTICES = { seconds: DAY_SECONDS, most: 1 }

/** How long the second step of a sign-in may take, and how many codes may be tried. */
export const STEP_SECONDS = 5 * MINUTE_SECONDS
export const MAX_STEP_TRIES = 5

/** Consecutive wrong codes. A stranger cannot lock a user out, because the first factor comes before. */
export const FAILURES_BEFORE_LOCK = 10
/** Doubles with every further failure, up to the maximum. */
export const LOCK_SECONDS = 15 * MINUTE_SECONDS
export const MAX_LOCK_SECONDS = DAY_SECONDS

/** How long an enrolment may take. */
export const ENROLMENT_SECONDS = 10 * MINUTE_SECONDS

/** How long a sign-in with a provider may take, and how long its ticket and tokens are valid. */
export const FEDERATION_SECONDS = 10 * MINUTE_SECONDS
export const TICKET_SECONDS = MINUTE_SECONDS

/** Sign-ins with providers begun from one network: each leaves a row. */
export const MAX_FEDERATION_STARTS_AN_HOUR = 1000

/** How long a passkey ceremony may take. */
export const CEREMONY_SECONDS = 5 * MINUTE_SECONDS

/** How long each kind of request to the OpenID provider is valid, and what it gives. */
export const AUTHORIZATION_SECONDS = 10 * MINUTE_SECONDS
export const PUSHED_SECONDS = MINUTE_SECONDS
export const DEVICE_SECONDS = 10 * MINUTE_SECONDS
export const AUTHORIZATION_CODE_SECONDS = MINUTE_SECONDS
export const ID_TOKEN_SECONDS = 15 * MINUTE_SECONDS

/** How long a browser stays signed in without use. */
export const REMEMBERED_SECONDS = 14 * DAY_SECONDS
export const NOT_REMEMBERED_SECONDS = 12 * HOUR_SECONDS
/** A page that keeps its tokens in memory begins a session at each reload, and many tabs may be open. */
export const MAX_SESSIONS_PER_BROWSER = 20

/** How long a second use of a code is still noticed. */
export const USED_CODES_SECONDS = DAY_SECONDS
/** How long a device can still learn that its code has expired. */
export const ENDED_DEVICES_SECONDS = HOUR_SECONDS
/** How long the document of a client is used, and kept: longer than that and than a request of its client lasts. */
export const DOCUMENT_SECONDS = DAY_SECONDS
export const KEPT_DOCUMENT_SECONDS = DOCUMENT_SECONDS + HOUR_SECONDS
/** How long a client that registered itself waits for its first user. */
export const UNUSED_REGISTRATION_SECONDS = 30 * DAY_SECONDS

/** From one network. The documents are requests to addresses that a stranger chose. */
export const MAX_CLIENT_REGISTRATIONS_AN_HOUR = 20
export const MAX_DOCUMENTS_AN_HOUR = 60
export const MAX_WRONG_DEVICE_CODES_AN_HOUR = 10

/** What a client may say of itself, whichever way it becomes known. */
export const MAX_CLIENT_NAME = 100
export const MAX_CLIENT_ADDRESSES = 50
export const MAX_CLIENT_ADDRESS_LENGTH = 2048

/** Requests of clients that await a user, from one network. Each leaves a row for up to ten minutes. */
export const MAX_PENDING = { seconds: 10 * MINUTE_SECONDS, most: 1000 }
/** In all, of each kind: beyond that, the oldest make room. */
export const MAX_PENDING_IN_ALL = 100_000
