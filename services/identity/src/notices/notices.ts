import { countWithin, type Origin, recordSecurityEvent, type User } from '@plinth/accounts'
import type { AuditEntry, EndpointAuditEvent } from '@plinth/events'
import type { Db } from '@plinth/kit/database'
import { findFactor, unusedRecoveryCodes } from '../database/factors.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { LIFETIME_SECONDS, MAX_BROWSER_NOTICES, MAX_NOTICES } from '../limits.ts'
import type { MailKind } from '../mail/messages.ts'
import { mailAdministrators, type Outbox, queueMail } from '../mail/outbox.ts'
import { accountLink } from '../mail/user-mails.ts'
import { issueToken } from '../tokens/one-time-tokens.ts'

type Notice = { mail: MailKind; user: User; publicUrl: string }

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
  if (mail === 'verify-email' || mail === 'invitation') {
    await queueMail(outbox, db, { kind: mail, ...to, lifetimeSeconds }, origin)
    return
  }
  const counting = { clock: outbox.clock, db }
  const { seconds, most } = mail === 'new-browser' ? MAX_BROWSER_NOTICES : MAX_NOTICES
  const { times } = await countWithin(counting, `notice ${mail} ${user.id}`, seconds)
  if (times > most) return
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

const ENDPOINT_MAILS: Partial<Record<EndpointAuditEvent, MailKind>> = {
  WEBHOOK_ENDPOINT_FAILING: 'endpoint-failing',
  WEBHOOK_ENDPOINT_DISABLED: 'endpoint-disabled',
}

/** Records endpoint events in the audit; administrators get a mail about an endpoint that fails or is disabled. */
export function recordEndpoints(outbox: Outbox, publicUrl: string) {
  return async (db: Db<IdentityTables>, { origin, ...entry }: AuditEntry): Promise<void> => {
    await recordSecurityEvent({ clock: outbox.clock, db }, entry, { ...origin, userAgent: null })
    const kind = ENDPOINT_MAILS[entry.event]
    if (!kind) return
    const details = { endpoint: entry.subject, link: `${publicUrl}/api-test/#/events` }
    await mailAdministrators(outbox, db, { kind, details })
  }
}
