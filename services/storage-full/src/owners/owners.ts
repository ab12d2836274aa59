import { type Accounts, ADMIN_ROLE, identifyCaller } from '@plinth/accounts'
import { rememberUsers } from '@plinth/erased-users'
import { type Authenticate, protectedResourceRoutes, type Server } from '@plinth/kit/http'
import type { Clock } from '@plinth/kit/runtime'
import { createIntrospection, createRemoteIssuer, type Introspection } from '@plinth/kit/tokens'
import { isKeyCaller, isKeyCallerInForce, type ServiceKeys } from '@plinth/service-keys'
import type { StorageFullConfig } from '../config.ts'
import type { Storage } from '../files/storage.ts'

type Issuer = NonNullable<StorageFullConfig['trustedIssuer']>

/**
 * Authenticates callers with an account here and, if configured, users of one other issuer. Both
 * number their users from 1, so the id of a foreign user includes the issuer.
 */
export function authenticateWith(
  accounts: Accounts,
  { db, log }: Pick<Storage, 'db' | 'log'>,
  { trusted, introspection }: { trusted: Issuer | undefined; introspection?: Introspection },
): Authenticate {
  if (trusted === undefined) return (token) => identifyCaller(accounts, token)
  const { clock, settings } = accounts
  const remember = rememberUsers(db, trusted.issuer, log)
  const { issuer, key: _, ...rules } = trusted
  const remote = createRemoteIssuer({ issuer, ...rules, audience: settings.audience, clock })
  return async (token) => {
    const local = await identifyCaller(accounts, token)
    if (local) return local
    const subject = await remote.verify(token)
    if (!subject) return undefined
    await remember(subject)
    const caller = { ...subject, userId: ownerIdOf(issuer, subject.userId) }
    // An administrator may act on files of others, so the issuer must confirm the token.
    if (!introspection || !subject.roles.includes(ADMIN_ROLE)) return caller
    const user = await introspection.check(token)
    return user && { ...caller, ...user }
  }
}

/** What the service announces about itself when it trusts an issuer. */
export function trustIssuer(server: Server, publicUrl: string, { issuer, key }: Issuer): void {
  protectedResourceRoutes(server, { publicUrl, issuer })
  // Its console offers to sign in there.
  server.tellPages(() => ({ issuer }))
  if (key === undefined)
    server.announcements.push(
      'a disabled administrator of the issuer stays one for up to 15 minutes, links of disabled users still open, and files of erased users are kept: set STORAGE_FULL_TRUSTED_ISSUER_KEY',
    )
}

const idPrefix = (issuer: string) => `${issuer}#`

export function ownerIdOf(issuer: string, userId: string): string {
  return `${idPrefix(issuer)}${userId}`
}

export function introspectionOf(
  trusted: Issuer | undefined,
  clock: Clock,
): Introspection | undefined {
  if (trusted?.key === undefined) return undefined
  return createIntrospection({ issuer: trusted.address ?? trusted.issuer, key: trusted.key, clock })
}

/** Without a key for introspection, every user of the issuer counts as enabled. */
export function enabledOwners(
  keys: ServiceKeys,
  trusted: Issuer | undefined,
  introspection: Introspection | undefined,
): Storage['isEnabledElsewhere'] {
  return async (ownerId) => {
    if (isKeyCaller(ownerId)) return isKeyCallerInForce(keys, ownerId)
    const prefix = trusted && idPrefix(trusted.issuer)
    if (prefix === undefined || !ownerId.startsWith(prefix)) return false
    return introspection?.isEnabled(ownerId.slice(prefix.length)) ?? true
  }
}
