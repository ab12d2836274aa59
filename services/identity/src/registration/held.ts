import { randomUUID } from 'node:crypto'
import {
  type Accounts,
  findUserByEmail,
  type Origin,
  refuseTaken,
  registerVerified,
} from '@plinth/accounts'
import { type Db, inTransaction, isUniqueViolation } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import {
  deleteHeld,
  dropPasswords,
  findHeld,
  findHeldByHash,
  forgiveHeldTry,
  type Held,
  insertHeld,
  saveSecrets,
  spendHeld,
  tryHeldCode,
} from '../database/held-registrations.repository.ts'
import { assignMails } from '../database/mail.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { LIFETIME_SECONDS } from '../limits.ts'
import type { Prepare } from '../mail/delivery.ts'
import { type Outbox, queueMail, requireMail } from '../mail/outbox.ts'
import { mailNotConfigured } from '../mail/problems.ts'
import { accountLink, mayMail, type UserMails } from '../mail/user-mails.ts'
import { type Codes, newSecrets } from '../tokens/one-time-tokens.ts'
import { tokenRejected } from '../tokens/problems.ts'

const KIND = 'verify-email'
const lifetimeSeconds = LIFETIME_SECONDS[KIND]
const CHOOSE_SECONDS = LIFETIME_SECONDS['password-reset']

/** Writes the same rows for every address; whether it is known is looked up only when the mail is prepared. */
export function holdRegistrations(
  outbox: Outbox,
  { confirmRegistration }: { confirmRegistration: boolean },
): NonNullable<Accounts['confirmation']> {
  return {
    isOn: confirmRegistration,
    problems: [mailNotConfigured],
    async hold({ username, email, passwordHash }, origin) {
      requireMail(outbox)
      const now = outbox.clock()
      await inTransaction(outbox.db, async (db) => {
        await insertHeld(db, {
          id: randomUUID(),
          username,
          address: email,
          passwordHash,
          tokenHash: null,
          codeHash: '',
          failures: 0,
          createdAt: now.toISOString(),
          expiresAt: secondsAfter(now, lifetimeSeconds).toISOString(),
          usedAt: null,
        })
        const mail = { kind: 'already-registered', to: email, lifetimeSeconds } as const
        await queueMail(outbox, db, mail, origin)
      })
    },
  }
}

/** Mails a confirmation link or, if the address is known, tells its owner that they already have an account. */
export function prepareRegistration(mails: UserMails): Prepare {
  const { accounts, publicUrl } = mails
  return async (db, { address, originAddress, userAgent }) => {
    const user = await findUserByEmail(db, address)
    const origin = { address: originAddress, userAgent, requestId: null }
    const isDue = user?.enabled !== false
    const mail = { kind: KIND, user, isDue, to: address, origin } as const
    // The rows it updates also serialise the mails to one address.
    const isMailed = await mayMail(mails, db, mail)
    await dropPasswords(db, address, accounts.clock())
    const held = await findHeld(db, address, { mailed: false })
    if (!held) return
    if (user || !isMailed) await deleteHeld(db, held.id)
    if (!isMailed) return
    if (!user) return registrationMail(mails, db, held)
    const details = { link: `${publicUrl}/account/#forgot` }
    return { kind: 'already-registered', userId: user.id, details, reader: user }
  }
}

/** A registration that has been mailed, and whose mail may be sent again. */
export async function findRenewable(
  { accounts }: UserMails,
  db: Db<IdentityTables>,
  address: string,
): Promise<Held | undefined> {
  const held = await findHeld(db, address, { mailed: true })
  return held && held.expiresAt > accounts.clock().toISOString() ? held : undefined
}

export async function registrationMail(mails: UserMails, db: Db<IdentityTables>, held: Held) {
  const { token, code, hashes } = newSecrets(mails.accounts, held.id)
  await saveSecrets(db, held, hashes)
  const link = accountLink(mails, 'verify', token)
  return { kind: KIND, userId: null, details: { date: held.createdAt, code, link } } as const
}

/** What the page shows before its button is pressed. */
export async function pendingRegistration(mails: UserMails, token: string) {
  const { username, address: email, createdAt } = await requireHeld(mails, token)
  return { username, email, createdAt }
}

/**
 * Creates the account; its username may be taken by now. Confirming again with the same proof succeeds. If the
 * address was registered more than once, no password from then works: a mail lets the owner choose one.
 */
export async function confirmRegistration(
  { accounts, db, outbox }: UserMails,
  held: Held,
  origin: Origin,
): Promise<void> {
  const { username, address: email } = held
  try {
    await inTransaction(db, async (tables) => {
      const inside = { ...accounts, db: tables }
      const now = accounts.clock()
      await dropPasswords(tables, email, now)
      const spent = await spendHeld(tables, held.id, now)
      if (spent) await registerVerified(inside, { username, email, ...spent }, origin)
      const user = await findUserByEmail(inside.db, email)
      if (user?.username !== username || !user.verified) throw tokenRejected()
      if (spent) await assignMails(tables, user)
      if (spent?.passwordHash !== '') return
      const choose = { kind: 'registered-twice', to: email, userId: user.id } as const
      await queueMail(outbox, tables, { ...choose, lifetimeSeconds: CHOOSE_SECONDS }, origin)
    })
  } catch (error) {
    if (isUniqueViolation(error)) await refuseTaken(accounts, { username, email }, origin)
    throw error
  }
}

/** "This was not me": the registration never becomes an account. */
export async function dropRegistration(mails: UserMails, token: string): Promise<void> {
  const { id } = await requireHeld(mails, token)
  if (!(await deleteHeld(mails.db, id))) throw tokenRejected()
}

export function heldCodes(db: Db<IdentityTables>): Codes<Held> {
  return {
    take: (address, most) => tryHeldCode(db, address, most),
    forgive: ({ id }) => forgiveHeldTry(db, id),
  }
}

export async function requireHeld({ accounts, db }: UserMails, token: string): Promise<Held> {
  const held = await findHeldByHash(db, hashOpaqueToken(token))
  if (!held || held.expiresAt <= accounts.clock().toISOString()) throw tokenRejected()
  return held
}
