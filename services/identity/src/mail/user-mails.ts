import {
  type Accounts,
  type AuditEvent,
  attemptOf,
  countFrom,
  countWithin,
  isKnownNetwork,
  normalName,
  type Origin,
  recordSecurityEvent,
  recordThrottle,
  type User,
} from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import type { Logger } from '@plinth/kit/logging'
import { HOUR_SECONDS } from '@plinth/kit/runtime'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import type { IdentityTables } from '../database/tables.ts'
import {
  CODE_SECONDS,
  LIFETIME_SECONDS,
  MAX_MAIL_REQUESTS_AN_HOUR,
  MAX_MAILS_AN_HOUR,
  MAX_MAILS_PER_ADDRESS,
} from '../limits.ts'
import { type Outbox, queueMail, requireMail } from './outbox.ts'

/** What rules need that mail a user a link; they take it as their first argument. */
export type UserMails = {
  accounts: Accounts
  db: Db<IdentityTables>
  outbox: Outbox
  /** The base URL of the account pages. */
  publicUrl: string
  log: Logger
}

/** The secret is in the fragment, so it reaches no server, log or referrer. */
export function accountLink(
  { publicUrl }: Pick<UserMails, 'publicUrl'>,
  page: string,
  token: string,
): string {
  return `${publicUrl}/account/#${page}=${token}`
}

/** The audit events for requests beyond a limit. */
const EVENTS = {
  'verify-email': 'VERIFY_EMAIL_REQUESTED',
  'password-reset': 'PASSWORD_RESET_REQUESTED',
  'email-change': 'EMAIL_CHANGE_REQUESTED',
  'data-export': 'DATA_EXPORT_REQUESTED',
  'sign-in-code': 'SIGN_IN_CODE_REQUESTED',
  'sign-up-code': 'SIGN_UP_CODE_REQUESTED',
} as const satisfies Record<string, AuditEvent>

const LIFETIMES = {
  ...LIFETIME_SECONDS,
  'sign-in-code': CODE_SECONDS,
  'sign-up-code': CODE_SECONDS,
}

type Asked = { to: string; userId?: number }

/**
 * Known and unknown addresses cost the same statements and get the same reply: whether there is an account is
 * looked up later, when the mail is prepared. Too many requests from a network get the same reply as well; then no
 * mail is returned.
 */
export async function askForMail(
  { accounts, outbox, db }: UserMails,
  kind: Exclude<keyof typeof EVENTS, 'data-export'>,
  { to, ...asked }: Asked,
  origin: Origin,
): Promise<{ id: string } | undefined> {
  requireMail(outbox)
  const allowance = {
    kind: 'mail request',
    limit: MAX_MAIL_REQUESTS_AN_HOUR,
    seconds: HOUR_SECONDS,
  }
  const refusal = { event: EVENTS[kind] } as const
  if (outbox.settings.limited && (await countFrom(accounts, allowance, refusal, origin)))
    return undefined
  const lifetimeSeconds = LIFETIMES[kind]
  return queueMail(outbox, db, { kind, to: normalName(to), ...asked, lifetimeSeconds }, origin)
}

type MailRequest = {
  kind: keyof typeof EVENTS
  to: string
  /** The owner of the address, if there is one. */
  user: Pick<User, 'id' | 'username'> | undefined
  /** Whether a mail would be sent; otherwise it is only counted. */
  isDue: boolean
  origin: Origin
}

/**
 * Whether one more mail of this kind may be sent. Unknown addresses are counted like known ones. Each kind has its
 * own limits, so that registrations cannot stop resets, and so have requests from a network where the user has a
 * session: strangers cannot use those up. Beyond a limit no mail is sent, and the audit gets one row per window: an
 * attack must not flood it.
 */
export async function mayMail(
  mails: UserMails,
  db: Db<IdentityTables>,
  { kind, to, user, isDue, origin }: MailRequest,
): Promise<boolean> {
  if (!mails.outbox.settings.limited) return isDue
  const inside = { ...mails.accounts, db }
  const isKnown = await isKnownNetwork(inside, { ...user }, origin)
  const purpose = isKnown ? `${kind} where signed in` : kind
  const address = hashOpaqueToken(withoutTag(to))
  for (const { seconds, most } of MAX_MAILS_PER_ADDRESS) {
    const counted = await countWithin(inside, `mail ${purpose} ${seconds} ${address}`, seconds)
    if (counted.times <= most) continue
    const attempt = attemptOf(`mail ${kind}`, user?.username ?? '', origin)
    const refusal = { event: EVENTS[kind], ...(user && { subject: user.username }) } as const
    await recordThrottle(inside, attempt, refusal, origin)
    return false
  }
  return isDue && isWithinTotal(mails, inside, purpose, origin)
}

/** Counts only mails that would be sent, so that requests for made-up addresses cannot use up the limit. */
async function isWithinTotal(
  { log }: UserMails,
  inside: Accounts,
  purpose: string,
  origin: Origin,
) {
  const { times } = await countWithin(inside, `mail of everybody ${purpose}`, HOUR_SECONDS)
  if (times === MAX_MAILS_AN_HOUR + 1) {
    log.error(`more than ${MAX_MAILS_AN_HOUR} mails in an hour (${purpose}): none until it is over`)
    await recordSecurityEvent(inside, { event: 'MAIL_LIMIT_REACHED', result: 'THROTTLED' }, origin)
  }
  return times <= MAX_MAILS_AN_HOUR
}

/** `ada+news@example.com` and `ada@example.com` are the same inbox. */
function withoutTag(address: string): string {
  return address.replace(/\+[^@]*(?=@)/, '')
}
