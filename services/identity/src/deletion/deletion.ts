import {
  type By,
  cancelDeletion,
  eraseAccount,
  findUserById,
  listDueDeletions,
  lockCaller,
  type Origin,
  renameLateEvents,
  requireUser,
  scheduleDeletion,
  type User,
} from '@plinth/accounts'
import { type Db, type Job, startJob } from '@plinth/kit/database'
import type { Caller, Server } from '@plinth/kit/http'
import { DAY_SECONDS } from '@plinth/kit/runtime'
import { revokeKeysMadeBy, type ServiceKeys } from '@plinth/service-keys'
import { spendToken } from '../database/one-time-tokens.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { eraseUserData } from '../database/user-data.repository.ts'
import { LAST_MAIL } from '../mail/messages.ts'
import { canSend, type Outbox, queueMail, type Reader } from '../mail/outbox.ts'
import { accountLink, type UserMails } from '../mail/user-mails.ts'
import { findToken, issueToken } from '../tokens/one-time-tokens.ts'
import { tokenRejected } from '../tokens/problems.ts'
import { noDeletion } from './problems.ts'

/** What the rules of deletion need; every rule takes it as its first argument. */
export type Deletions = UserMails & {
  keys: ServiceKeys
  graceDays: number
  /** Starts to erase the accounts that are due. */
  eraseNow(): void
}

/**
 * The user gets a mail with a link to cancel; without mail, they can cancel by signing in. Service keys the user
 * created are revoked for good.
 */
export async function deleteOwnAccount(
  deletions: Deletions,
  caller: Caller,
  origin: Origin,
): Promise<{ deletesAt: string }> {
  const { accounts, outbox, keys, graceDays } = deletions
  const userId = Number(caller.userId)
  const deletesAt = await scheduleDeletion(
    accounts,
    userId,
    {
      by: 'user',
      graceSeconds: graceDays * DAY_SECONDS,
      async admit(database) {
        await lockCaller(database, caller)
      },
      async onScheduled(db: Db<IdentityTables>, reader, at) {
        const { email, username } = reader
        await revokeKeysMadeBy(keys, db, username, { actor: username, origin })
        if (!canSend(outbox) || graceDays === 0) return
        const undo = { userId, kind: 'deletion-undo', address: email, expiresAt: at } as const
        const { token } = await issueToken({ accounts, db }, undo)
        const link = accountLink(deletions, 'keep', token)
        const details = { date: at, link }
        const lifetimeSeconds = graceDays * DAY_SECONDS
        const mail = { kind: 'deletion-requested', to: email, userId, details, reader } as const
        await queueMail(outbox, db, { ...mail, lifetimeSeconds }, origin)
      },
    },
    { actor: caller.username, origin },
  )
  if (graceDays === 0) deletions.eraseNow()
  return { deletesAt }
}

/** The user is notified and cannot cancel; administrators can, until the account is erased. */
export async function deleteByAdministrator(
  deletions: Deletions,
  userId: number,
  by: By,
): Promise<{ deletesAt: string }> {
  const { accounts, outbox, keys, graceDays } = deletions
  const deletesAt = await scheduleDeletion(
    accounts,
    userId,
    {
      by: 'administrator',
      graceSeconds: graceDays * DAY_SECONDS,
      async onScheduled(db: Db<IdentityTables>, reader, at) {
        const { email, username } = reader
        await revokeKeysMadeBy(keys, db, username, by)
        if (!canSend(outbox) || graceDays === 0) return
        const details = { date: at }
        const kind = 'deletion-by-administrator'
        const mail = { kind, to: email, userId, details, reader } as const
        await queueMail(outbox, db, { ...mail, lifetimeSeconds: DAY_SECONDS }, by.origin)
      },
    },
    by,
  )
  if (graceDays === 0) deletions.eraseNow()
  return { deletesAt }
}

const CANCELLING = ['deletion-undo', 'deletion-cancel'] as const

/** Accepts the token of the mail, or that of a refused login. */
export async function keepOwnAccount(
  { accounts, db }: Deletions,
  token: string,
  origin: Origin,
): Promise<void> {
  for (const kind of CANCELLING) {
    const found = await findToken({ accounts, db }, kind, { token })
    const user = found && (await findUserById(accounts.db, found.userId))
    if (!found || !user) continue
    const cancelling = {
      async admit(inside: Db<IdentityTables>, deletion: { by: string }) {
        return deletion.by === 'user' && (await spendToken(inside, found.id, accounts.clock()))
      },
    }
    const by = { actor: user.username, origin }
    if (await cancelDeletion(accounts, user.id, cancelling, by)) return
  }
  throw tokenRejected()
}

export async function keepAccount({ accounts }: Deletions, userId: number, by: By): Promise<void> {
  await requireUser(accounts, userId)
  if (!(await cancelDeletion(accounts, userId, { admit: async () => true }, by))) throw noDeletion()
}

const EVERY_SECONDS = 60
const BATCH_SIZE = 100

/** Starts the job that erases due accounts, on one node at a time. */
export function startErasure(
  { accounts, db, outbox }: UserMails,
  { log, metrics }: Server,
): Pick<Job, 'stop'> & Pick<Deletions, 'eraseNow'> {
  const job = startJob({
    db,
    name: 'identity-erasure',
    everySeconds: EVERY_SECONDS,
    log,
    metrics,
    run: (signal) => eraseDue({ accounts, outbox }, signal),
  })
  const eraseNow = () => {
    job.runNow().catch((error) => log.error({ err: error }, 'erasure failed'))
  }
  return { stop: job.stop, eraseNow }
}

/** One account that cannot be erased does not keep the others from being erased. */
export async function eraseDue(
  { accounts, outbox }: Pick<Deletions, 'accounts' | 'outbox'>,
  signal: AbortSignal,
): Promise<void> {
  const failures: Error[] = []
  const erasing = {
    async eraseElsewhere(db: Db<IdentityTables>, user: User) {
      await eraseUserData(db, user, accounts.clock())
      await queueLastMail(outbox, db, user)
    },
  }
  let due: number[]
  let after = 0
  do {
    due = await listDueDeletions(accounts.db, accounts.clock(), { after, most: BATCH_SIZE })
    for (const id of due) {
      if (signal.aborted) break
      await eraseAccount(accounts, id, erasing, signal).catch((cause) =>
        failures.push(new Error(`user ${id} could not be erased`, { cause })),
      )
      after = id
    }
  } while (due.length === BATCH_SIZE && !signal.aborted)
  if (!signal.aborted) await renameLateEvents(accounts)
  if (failures.length > 0) throw new AggregateError(failures, 'some accounts could not be erased')
}

/** Runs after all other data of the user is erased; the outbox deletes the mail as soon as it is sent. */
async function queueLastMail(
  outbox: Outbox,
  db: Db<IdentityTables>,
  reader: Reader,
): Promise<void> {
  if (!canSend(outbox)) return
  const origin = { address: outbox.settings.appName, userAgent: null, requestId: null }
  const mail = { kind: LAST_MAIL, to: reader.email, details: {}, reader } as const
  await queueMail(outbox, db, { ...mail, lifetimeSeconds: DAY_SECONDS }, origin)
}
