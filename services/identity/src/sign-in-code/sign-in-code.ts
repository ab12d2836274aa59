import { normalName, type Origin, openSession, type TokenPair, type User } from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import { newOpaqueToken } from '@plinth/kit/tokens'
import { spendMailedCode } from '../database/mailed-codes.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { codeRejected } from '../factors/problems.ts'
import type { Prepare } from '../mail/delivery.ts'
import { askForMail, mayMail } from '../mail/user-mails.ts'
import { emptyAccount } from '../recovery/emptying.ts'
import { lockOwner, type Recovery } from '../recovery/recovery.ts'
import { findMailedCode, issueCode, requestCode } from '../tokens/mailed-codes.ts'
import { signInCodeDisabled } from './problems.ts'

/** What the rules of mailed codes need; every rule takes it as its first argument. */
export type SignInCodes = Recovery & { signInCode: boolean }

const KIND = 'sign-in-code'
const AMR = ['mail']

/** Known and unknown addresses cost the same statements and get the same reply. */
export async function requestSignInCode(
  codes: SignInCodes,
  email: string,
  origin: Origin,
): Promise<{ requestToken: string }> {
  if (!codes.signInCode) throw signInCodeDisabled()
  const requestToken = newOpaqueToken()
  await inTransaction(codes.db, async (db) => {
    const inside = { ...codes, accounts: { ...codes.accounts, db }, db }
    const mail = await askForMail(inside, KIND, { to: email }, origin)
    if (!mail) return
    const request = { kind: KIND, address: normalName(email), mailId: mail.id } as const
    await requestCode(inside, requestToken, request)
  })
  return { requestToken }
}

/** A user who has asked for erasure gets a code too: signing in is how to cancel that. */
export function prepareSignInCode(codes: SignInCodes): Prepare {
  const { accounts } = codes
  return async (db, { id, address, originAddress, userAgent }) => {
    const user = await lockOwner(db, address)
    const isDue = user !== undefined && mayEnter(user)
    const origin = { address: originAddress, userAgent, requestId: null }
    if (!(await mayMail(codes, db, { kind: KIND, user, isDue, to: address, origin }))) return
    const issued = user && (await issueCode({ accounts, db }, id))
    if (!issued) return
    return { kind: KIND, userId: user.id, details: issued, reader: user }
  }
}

function mayEnter({ enabled, deletion }: User): boolean {
  return enabled || deletion?.by === 'user'
}

type Confirmation = { requestToken: string; code: string }

/** Opens the same kind of session as a password; one factor. The first proof of an address empties the account. */
export async function signInByCode(
  codes: SignInCodes,
  { requestToken, code }: Confirmation,
  origin: Origin,
): Promise<TokenPair> {
  if (!codes.signInCode) throw signInCodeDisabled()
  const { accounts, db } = codes
  const purpose = { kind: KIND, event: 'SIGN_IN_CODE_USED', origin } as const
  const typed = { token: requestToken, code }
  const proved = await findMailedCode({ accounts, db }, typed, purpose)
  if (!proved) throw codeRejected()
  const user = await inTransaction(db, async (inside) => {
    const owner = await lockOwner(inside, proved.address)
    if (!owner || !mayEnter(owner)) return undefined
    if (!(await spendMailedCode(inside, proved, accounts.clock()))) return undefined
    if (!owner.verified) await emptyAccount(codes, inside, owner, origin)
    return owner
  })
  if (!user) throw codeRejected()
  const entry = {
    userId: user.id,
    event: purpose.event,
    amr: AMR,
    async admit(_: Db<IdentityTables>, locked: Promise<User | undefined>) {
      return { isAdmitted: (await locked)?.email === proved.address }
    },
  }
  const { pair } = await openSession(accounts, entry, origin)
  if (pair) return pair
  if (user.deletion) await accounts.turnAway?.run(accounts, user, AMR, origin)
  throw codeRejected()
}
