import { type Accounts, identifyCaller } from '@plinth/accounts'
import { type Authenticate, createRemoteIssuer } from '@plinth/kit'

/**
 * Callers with an account here and, if it is configured, users of one other issuer. Both count
 * their users from 1, so the issuer becomes a part of a foreign user's id.
 */
export function authenticateWith(
  accounts: Accounts,
  trustedIssuer: string | undefined,
): Authenticate {
  if (trustedIssuer === undefined) return (token) => identifyCaller(accounts, token)
  const { clock, settings } = accounts
  const remote = createRemoteIssuer({
    issuer: trustedIssuer,
    audience: settings.audience,
    clock,
  })
  return async (token) => {
    const local = await identifyCaller(accounts, token)
    if (local) return local
    const subject = await remote.verify(token)
    return subject && { ...subject, userId: `${trustedIssuer}#${subject.userId}` }
  }
}
