import {
  admitRegistration,
  findUserByEmail,
  normalName,
  type Origin,
  type TokenPair,
} from '@plinth/accounts'
import { inTransaction, isUniqueViolation } from '@plinth/kit/database'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import { findUnlinked, spendUnlinked } from '../database/federation.repository.ts'
import { findIdentity } from '../database/identities.repository.ts'
import { spendMailedCode } from '../database/mailed-codes.repository.ts'
import { codeRejected } from '../factors/problems.ts'
import type { Prepare } from '../mail/delivery.ts'
import { askForMail, mayMail } from '../mail/user-mails.ts'
import { findMailedCode, issueCode, requestCode } from '../tokens/mailed-codes.ts'
import type { Federation } from './federation.ts'
import { accountExists, identityInUse, ticketInvalid } from './problems.ts'
import { createAccount, keepUnlinked, openIdentitySession, requireSignUp } from './sign-in.ts'

const KIND = 'sign-up-code'

type SignUp = { signUpToken: string; email: string }

/** Known and unknown addresses cost the same statements and get the same reply. */
export async function requestSignUp(
  federation: Federation,
  { signUpToken, email }: SignUp,
  origin: Origin,
): Promise<void> {
  await requireUnlinked(federation, signUpToken)
  await inTransaction(federation.db, async (db) => {
    const inside = { ...federation, accounts: { ...federation.accounts, db }, db }
    const mail = await askForMail(inside, KIND, { to: email }, origin)
    if (!mail) return
    const request = { kind: KIND, address: normalName(email), mailId: mail.id } as const
    await requestCode(inside, signUpToken, request)
  })
}

/** The owner of an address that is taken is told so, and gets no code. */
export function prepareSignUpCode(federation: Federation): Prepare {
  const { accounts, publicUrl } = federation
  return async (db, { id, address, originAddress, userAgent }) => {
    const user = await findUserByEmail(db, address)
    const isDue = user?.enabled !== false
    const origin = { address: originAddress, userAgent, requestId: null }
    if (!(await mayMail(federation, db, { kind: KIND, user, isDue, to: address, origin }))) return
    if (user) {
      const details = { link: `${publicUrl}/account/#forgot` }
      return { kind: 'already-registered', userId: user.id, details, reader: user }
    }
    const issued = await issueCode({ accounts, db }, id)
    return issued && { kind: KIND, userId: null, details: issued }
  }
}

type Confirmation = { signUpToken: string; code: string }

/** Creates the account of an identity with the address that the code has proved. */
export async function confirmSignUp(
  federation: Federation,
  { signUpToken, code }: Confirmation,
  origin: Origin,
): Promise<TokenPair> {
  const { accounts, db } = federation
  const identity = await requireUnlinked(federation, signUpToken)
  const purpose = { kind: KIND, event: 'REGISTER', origin } as const
  const proved = await findMailedCode({ accounts, db }, { token: signUpToken, code }, purpose)
  if (!proved) throw codeRejected()
  await admitRegistration(accounts, origin)
  const { address } = proved
  try {
    const refusal = await inTransaction(db, async (inside) => {
      const now = accounts.clock()
      const token = { tokenHash: hashOpaqueToken(signUpToken), purpose: 'sign-up' } as const
      if (!(await spendUnlinked(inside, { ...token, email: null }, now))) return ticketInvalid()
      if (!(await spendMailedCode(inside, proved, now))) throw codeRejected()
      // Registered since the mail was sent; the code has proved the address, as a provider would.
      if (await findUserByEmail(inside, address)) {
        const wanted = { ...identity, email: address }
        const linkToken = await keepUnlinked({ accounts, db: inside }, wanted, 'link')
        return accountExists({ extra: { linkToken } })
      }
      await createAccount(federation, inside, { address, identity }, origin)
      return undefined
    })
    if (refusal) throw refusal
  } catch (error) {
    throw isUniqueViolation(error) ? identityInUse() : error
  }
  const known = await findIdentity(db, identity)
  if (!known) throw ticketInvalid()
  return openIdentitySession(federation, known, identity, origin)
}

/** The identity of a sign-up that may go on. */
async function requireUnlinked(federation: Federation, signUpToken: string) {
  const { accounts, db, providers } = federation
  const token = { tokenHash: hashOpaqueToken(signUpToken), purpose: 'sign-up' } as const
  const found = await findUnlinked(db, token, accounts.clock())
  const provider = found && providers.get(found.provider)
  if (!found || !provider) throw ticketInvalid()
  requireSignUp(federation, provider.settings)
  const { issuer, subject, email } = found
  return { provider: found.provider, issuer, subject, email }
}
