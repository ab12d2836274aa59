import {
  type Accounts,
  attemptOf,
  countWithin,
  type Origin,
  type PasskeyStore,
  recordEvent,
  type User,
} from '@plinth/accounts'
import { type Db, hashOpaqueToken, type Logger } from '@plinth/kit'
import type { IdentityTables } from '../database/tables.ts'
import type { Outbox } from '../mail/outbox.ts'
import type { TokenKind } from './one-time-tokens.ts'

/** What the recovery rules need; every rule takes it as its first argument. */
export type Recovery = {
  accounts: Accounts
  db: Db<IdentityTables>
  outbox: Outbox
  passkeys: PasskeyStore
  /** Where the account pages are. */
  publicUrl: string
  log: Logger
}

/** The account rules in a transaction of ours. */
export function within(accounts: Accounts, db: Db<IdentityTables>): Accounts {
  return { ...accounts, db: db as unknown as Accounts['db'] }
}

/** The secret follows a `#`: it reaches no server, no log and no referrer. */
export function accountLink({ publicUrl }: Recovery, page: string, token: string): string {
  return `${publicUrl}/account/#${page}=${token}`
}

const HOUR = 3600
const DAY = 24 * HOUR
const REQUESTS_AN_HOUR = 30
const MAILS_AN_HOUR = 500

/**
 * Whether a client may ask for one more mail. Counted alike for known and unknown addresses, and the
 * answer is not shown.
 */
export async function mayAsk({ accounts }: Recovery, origin: Origin): Promise<boolean> {
  const asked = await countWithin(accounts, attemptOf('mail request', '', origin), HOUR)
  return asked.failures <= REQUESTS_AN_HOUR
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
  { kind, user, to, origin }: { kind: TokenKind; user: User; to: string; origin: Origin },
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
