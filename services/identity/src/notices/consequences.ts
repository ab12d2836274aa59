import {
  type Accounts,
  type AuditEvent,
  findUserByUsername,
  type SecurityListener,
} from '@plinth/accounts'
import type { EndpointAuditEvent } from '@plinth/events'
import type { Db } from '@plinth/kit/database'
import { isReservedName } from '@plinth/service-keys'
import { deleteSteps } from '../database/factors.repository.ts'
import { deleteUnusedCodes } from '../database/grants.repository.ts'
import { deleteQueuedMails } from '../database/mail.repository.ts'
import { deleteTokens } from '../database/one-time-tokens.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import type { MailKind } from '../mail/messages.ts'
import { canSend, type Outbox } from '../mail/outbox.ts'
import type { UserMails } from '../mail/user-mails.ts'
import type { TokenKind } from '../tokens/one-time-tokens.ts'
import { queueNotice } from './notices.ts'

/** Tokens that a change to the account invalidates. Undo tokens must survive what a thief does next. */
const INVALIDATED: TokenKind[] = [
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

/** These change nothing that a user would have to know. Every other event has an entry below. */
type WithoutConsequence =
  | 'LOGIN'
  | 'LOGOUT'
  | 'REFRESH'
  | 'REAUTHENTICATED'
  | 'ACCESS_DENIED'
  | 'USER_DELETED'
  | 'PASSKEY_USED'
  | 'SECOND_FACTOR_ASKED'
  | 'DATA_EXPORT_REQUESTED'
  | 'PASSWORD_RESET_REQUESTED'
  | 'VERIFY_EMAIL_REQUESTED'
  | 'VERIFICATION_SENT'
  | 'EMAIL_VERIFIED'
  | 'EMAIL_CHANGE_REQUESTED'
  | 'SIGN_IN_CODE_REQUESTED'
  | 'SIGN_IN_CODE_USED'
  | 'SIGN_UP_CODE_REQUESTED'
  | 'IDENTITY_USED'
  | 'MAIL_LIMIT_REACHED'
  | 'MAIL_RETRIED'
  | 'REGISTRATION_CHANGED'
  | 'SERVICE_KEY_REVOKED'
  | 'SERVICE_KEY_REFUSED'
  | 'SERVICE_KEY_EXPIRING'
  | EndpointAuditEvent

const CONSEQUENCES: Record<Exclude<AuditEvent, WithoutConsequence>, Consequence> = {
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
  IDENTITY_LINKED: { mail: 'identity-linked' },
  IDENTITY_UNLINKED: { mail: 'identity-unlinked' },
  CONSENT_GIVEN: { mail: 'grant-given' },
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

type Followed = keyof typeof CONSEQUENCES

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
    events: new Set(Object.keys(CONSEQUENCES) as Followed[]),
    async run(db: Db<IdentityTables>, { event, actor = '', subject = '', result }, origin) {
      const { mail, ...consequence }: Consequence = CONSEQUENCES[event as Followed]
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
export function withoutNotices({ accounts, outbox, publicUrl }: UserMails): Accounts {
  return { ...accounts, onEvent: followEvents(outbox, publicUrl, { notices: false }) }
}

async function invalidateTokens(
  db: Db<IdentityTables>,
  userId: number,
  { invalidatesTokens, endsSteps, notices }: Consequence & { notices: boolean },
): Promise<void> {
  if (invalidatesTokens) {
    // The session of the browser may live on, as that of the user who changes the password there does.
    await deleteUnusedCodes(db, userId)
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
