import {
  type Accounts,
  attemptOf,
  countWithin,
  normalName,
  type Origin,
  type PasskeyStore,
  recordEvent,
  type User,
} from '@plinth/accounts'
import { type Db, hashOpaqueToken, type Logger } from '@plinth/kit'
import type { IdentityTables } from '../database/tables.ts'
import type { Factors } from '../factors/second-factor.ts'
import { type Outbox, queueMail, requireMail } from '../mail/outbox.ts'
import type { Language } from '../mail/settings.ts'
import { LIFETIME_SECONDS, type TokenKind } from './one-time-tokens.ts'

/** What the recovery rules need; every rule takes it as its first argument. */
export type Recovery = {
  accounts: Accounts
  db: Db<IdentityTables>
  outbox: Outbox
  passkeys: PasskeyStore
  factors: Factors
  /** Where the account pages are. */
  publicUrl: string
  log: Logger
}

/** The account rules in a transaction of ours. */
export function within(accounts: Accounts, db: Db<IdentityTables>): Accounts {
  return { ...accounts, db: db as unknown as Accounts['db'] }
}

/** The secret follows a `#`: it reaches no server, no log and no referrer. */
export function accountLink(
  { publicUrl }: Pick<Recovery, 'publicUrl'>,
  page: string,
  token: string,
): string {
  return `${publicUrl}/account/#${page}=${token}`
}

const HOUR = 3600
const DAY = 24 * HOUR
const REQUESTS_AN_HOUR = 30
const MAILS_AN_HOUR = 500

type Asked = { to: string; userId?: number; language: Language }

/**
 * Known and unknown addresses cost the same statements and get the same reply: who has an account is
 * looked up later, when the mail is prepared. Too many requests of a network are not answered otherwise.
 */
export async function askForMail(
  { accounts, outbox, db }: Recovery,
  kind: 'verify-email' | 'password-reset' | 'email-change',
  { to, ...asked }: Asked,
  origin: Origin,
): Promise<void> {
  requireMail(outbox)
  const requests = await countWithin(accounts, attemptOf('mail request', '', origin), HOUR)
  if (requests.failures > REQUESTS_AN_HOUR) return
  const lifetimeSeconds = LIFETIME_SECONDS[kind]
  await queueMail(outbox, db, { kind, to: normalName(to), ...asked, lifetimeSeconds }, origin)
}

const MAILS_PER_ADDRESS = [
  { seconds: 60, most: 1 },
  { seconds: HOUR, most: 5 },
  { seconds: DAY, most: 10 },
]

/** Whether one more mail of this kind may go to an address; beyond that, an audit row and no mail. */
export async function mayMail(
  { accounts, log }: Recovery,
  db: Db<IdentityTables>,
  {
    kind,
    user,
    to,
    origin,
  }: { kind: TokenKind; user: Pick<User, 'username'>; to: string; origin: Origin },
): Promise<boolean> {
  const inside = within(accounts, db)
  const address = hashOpaqueToken(withoutTag(to))
  for (const { seconds, most } of MAILS_PER_ADDRESS) {
    const mails = await countWithin(inside, `mail ${kind} ${seconds} ${address}`, seconds)
    if (mails.failures <= most) continue
    const subject = user.username
    await recordEvent(inside, { event: eventOf(kind), subject, result: 'THROTTLED' }, origin)
    return false
  }
  const all = await countWithin(inside, 'mail of everybody', HOUR)
  if (all.failures === MAILS_AN_HOUR + 1)
    log.error('more than 500 mails in an hour: none until it is over')
  return all.failures <= MAILS_AN_HOUR
}

function eventOf(kind: TokenKind): string {
  return `${kind.replaceAll('-', '_').toUpperCase()}_REQUESTED`
}

/** `ada+news@example.com` and `ada@example.com` are one inbox. */
function withoutTag(address: string): string {
  return address.replace(/\+[^@]*(?=@)/, '')
}
