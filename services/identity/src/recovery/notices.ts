import {
  type Accounts,
  countWithin,
  findUserByUsername,
  type Origin,
  recordEvent,
  type SecurityListener,
  type User,
} from '@plinth/accounts'
import type { AuditEntry } from '@plinth/events'
import type { Db } from '@plinth/kit/database'
import { isReservedName } from '@plinth/service-keys'
import { deleteSteps, findFactor, unusedRecoveryCodes } from '../database/factors.repository.ts'
import { deleteQueuedMails } from '../database/mail.repository.ts'
import { deleteTokens } from '../database/one-time-tokens.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import type { MailKind } from '../mail/messages.ts'
import { canSend, mailAdministrators, type Outbox, queueMail } from '../mail/outbox.ts'
import { issueToken, LIFETIME_SECONDS } from './one-time-tokens.ts'
import { accountLink, type Recovery } from './recovery.ts'

/** Tokens that a change to the account invalidates. Undo tokens must survive what a thief does next. */
const INVALIDATED = [
  'verify-email',
  'password-reset',
  'password-reset-by-administrator',
  'password-change',
  'email-change',
  'data-export',
]

type Consequence = {
  result?: 'REFUSED'
  /** Also deletes queued mails that would bring such a token, and ends steps. */
  invalidatesTokens?: true
  /** Sign-ins that await the second factor must start over. */
  endsSteps?: true
  mail?: MailKind
  /** Only if someone other than the user did it. */
  byOthers?: true
  /** The notice goes to the actor, because the event concerns no user. */
  toActor?: true
}

const CONSEQUENCES: Record<string, Consequence> = {
  REGISTER: { mail: 'verify-email' },
  USER_CREATED: { mail: 'invitation' },
  PASSWORD_CHANGED: { invalidatesTokens: true, mail: 'password-changed' },
  PASSWORD_RESET: { invalidatesTokens: true, mail: 'password-changed' },
  EMAIL_CHANGED: { invalidatesTokens: true, mail: 'email-in-use' },
  USER_DISABLED: { invalidatesTokens: true, mail: 'account-disabled' },
  USER_ENABLED: { mail: 'account-enabled' },
  SESSION_REVOKED: { byOthers: true, mail: 'sessions-ended' },
  PASSWORD_EXPIRED: { endsSteps: true, mail: 'password-change-required' },
  DELETION_REQUESTED: { invalidatesTokens: true },
  DELETION_CANCELLED: { mail: 'deletion-cancelled' },
  DATA_EXPORTED: { mail: 'data-exported' },
  PASSKEY_ADDED: { mail: 'passkey-added' },
  PASSKEY_REMOVED: { mail: 'passkey-removed' },
  ROLES_CHANGED: { mail: 'roles-changed' },
  TOTP_ADDED: { mail: 'second-factor-added' },
  TOTP_REMOVED: { mail: 'second-factor-removed' },
  TOTP_REMOVAL_REQUESTED: { mail: 'second-factor-removal' },
  TOTP_REMOVAL_CANCELLED: { mail: 'second-factor-kept' },
  RECOVERY_CODE_USED: { mail: 'recovery-code-used' },
  RECOVERY_CODES_RENEWED: { mail: 'recovery-codes-renewed' },
  SECOND_FACTOR_USED: { result: 'REFUSED', mail: 'second-factor-refused' },
  SERVICE_KEY_CREATED: { mail: 'service-key-made', toActor: true },
  SERVICE_KEY_ROTATED: { mail: 'service-key-made', toActor: true },
  REFRESH_REPLAYED: { result: 'REFUSED', mail: 'session-replayed' },
}

/**
 * Applies the consequences of a security event, in its transaction: invalidates earlier tokens and sends the
 * user a notice, or a new user a mail to verify the address.
 */
export function followEvents(
  outbox: Outbox,
  publicUrl: string,
  { notices = true } = {},
): SecurityListener {
  return {
    events: new Set(Object.keys(CONSEQUENCES)),
    async run(db: Db<IdentityTables>, { event, actor = '', subject = '', result }, origin) {
      const { mail, ...consequence } = CONSEQUENCES[event] ?? {}
      if (result !== (consequence.result ?? 'SUCCESS')) return
      const owner = ownerIn(consequence, actor, subject)
      const user = owner && (await findUserByUsername(db, owner))
      if (!user) return
      await invalidateTokens(db, user.id, { ...consequence, notices })
      // A stranger must not choose the language of a warning.
      const from = result === 'REFUSED' ? { ...origin, languages: undefined } : origin
      if (mail && notices && canSend(outbox))
        await queueNotice(outbox, db, { mail, user, publicUrl }, from)
    },
  }
}

/**
 * The accounts for an action that sends a mail of its own. A notice beside that mail would ask whether it was
 * the user, and its "this was not me" would invalidate the link in that mail.
 */
export function withoutNotices({ accounts, outbox, publicUrl }: Recovery): Accounts {
  return { ...accounts, onEvent: followEvents(outbox, publicUrl, { notices: false }) }
}

async function invalidateTokens(
  db: Db<IdentityTables>,
  userId: number,
  { invalidatesTokens, endsSteps, notices }: Consequence & { notices: boolean },
): Promise<void> {
  if (invalidatesTokens) {
    await deleteQueuedMails(db, userId, 'email-change')
    // A new notice would replace the earlier one. Without one, delete it: it must not end the new link either.
    await deleteTokens(db, userId, notices ? INVALIDATED : [...INVALIDATED, 'not-me'])
  }
  if (invalidatesTokens || endsSteps) await deleteSteps(db, userId)
}

function ownerIn({ byOthers, toActor }: Consequence, actor: string, subject: string) {
  if (byOthers && actor === subject) return undefined
  if (!toActor) return subject
  return isReservedName(actor) ? undefined : actor
}

const ENDPOINT_MAILS: Record<string, MailKind> = {
  WEBHOOK_ENDPOINT_FAILING: 'endpoint-failing',
  WEBHOOK_ENDPOINT_DISABLED: 'endpoint-disabled',
}

/** Records endpoint events in the audit; administrators get a mail about an endpoint that fails or is disabled. */
export function recordEndpoints(outbox: Outbox, publicUrl: string) {
  return async (db: Db<IdentityTables>, { origin, ...entry }: AuditEntry): Promise<void> => {
    await recordEvent({ clock: outbox.clock, db }, entry, { ...origin, userAgent: null })
    const kind = ENDPOINT_MAILS[entry.event]
    if (!kind) return
    const details = { endpoint: entry.subject, link: `${publicUrl}/api-test/#/events` }
    await mailAdministrators(outbox, db, { kind, details })
  }
}

type Notice = { mail: MailKind; user: User; publicUrl: string }

const HOUR = 3600

/** An attacker can cause some of them at no cost, and must not be able to flood an inbox. */
const MOST = { seconds: HOUR, most: 10 }
const MAX_BROWSERS = { seconds: 24 * HOUR, most: 1 }

/** These already ask for a new password, or say whether the account can be used: no "this was not me" link. */
const WITHOUT_ALARM: MailKind[] = [
  'password-change-required',
  'account-disabled',
  'account-enabled',
]

/** Most can be answered with "this was not me"; only the newest link works. */
export async function queueNotice(
  outbox: Outbox,
  db: Db<IdentityTables>,
  { mail, user, publicUrl }: Notice,
  origin: Origin,
): Promise<void> {
  const to = { to: user.email, userId: user.id }
  const lifetimeSeconds = LIFETIME_SECONDS['verify-email']
  if (mail === 'verify-email' || mail === 'invitation')
    return queueMail(outbox, db, { kind: mail, ...to, lifetimeSeconds }, origin)
  const counting = { clock: outbox.clock, db: db as never }
  const { seconds, most } = mail === 'new-browser' ? MAX_BROWSERS : MOST
  const { failures } = await countWithin(counting, `notice ${mail} ${user.id}`, seconds)
  if (failures > most) return
  const { remaining } = await unusedRecoveryCodes(db, user.id)
  const factor = mail === 'second-factor-removal' ? await findFactor(db, user.id) : undefined
  const details = {
    remaining: String(remaining),
    date: factor?.removesAt ?? '',
    link: WITHOUT_ALARM.includes(mail)
      ? `${publicUrl}/account/#forgot`
      : await alarmLink(outbox, db, { user, publicUrl }),
  }
  await queueMail(outbox, db, { kind: mail, ...to, details, reader: user, lifetimeSeconds }, origin)
}

async function alarmLink(
  { clock, key }: Outbox,
  db: Db<IdentityTables>,
  { user, publicUrl }: Omit<Notice, 'mail'>,
): Promise<string> {
  const accounts = { clock, settings: { masterKey: key } }
  const wanted = { userId: user.id, kind: 'not-me', address: user.email } as const
  const { token } = await issueToken({ accounts, db }, wanted)
  return accountLink({ publicUrl }, 'alarm', token)
}
