import { eventGuards } from '@plinth/events'
import { type Authenticate, anyone, callerGuard, type Guard } from '@plinth/kit/http'
import { issuerUnavailable } from '@plinth/kit/problems'
import { isLoopback } from '@plinth/kit/runtime'
import type { KeyGuard } from '@plinth/service-keys'
import type { PaymentsConfig } from '../config.ts'
import type { PaymentGuard } from '../payment/context.ts'

type Guards = PaymentGuard & { keys: Guard; admin?: Guard }

/**
 * What each kind of call requires under `PAYMENTS_ACCESS`. Without an issuer, service keys are managed
 * with a service key; an operator creates the first one on the command line.
 */
export function paymentGuards(
  { access, issuer, production }: PaymentsConfig,
  keyGuard: KeyGuard,
  users: Authenticate | undefined,
): Guards {
  if (issuer && users) return issuerGuards(issuer.role, keyGuard, users)
  const { scope } = keyGuard
  const byKey: Guards = {
    keys: scope('keys:write'),
    read: scope('payments:read'),
    write: scope('payments:write'),
    refund: scope('refunds:write'),
    operate: scope('payments:read'),
    retry: scope('payments:write'),
  }
  if (access === 'keys') return byKey
  const open = { ...byKey, read: anyone, write: anyone, refund: anyone }
  // The operator routes show the data of all customers: in production they are never open.
  return production ? open : { ...open, operate: anyone, retry: anyone }
}

const ADMIN_ROLE = 'ROLE_ADMIN'

/** Allows service keys and the issuer's users with `role`. Users must be administrators to refund or retry. */
function issuerGuards(role: string, keys: KeyGuard, authenticate: Authenticate): Guards {
  const users = callerGuard(authenticate, [issuerUnavailable])
  const admin = users.role(ADMIN_ROLE)
  const user = users.role(role)
  return {
    admin,
    keys: keys.or('keys:write', admin),
    read: keys.or('payments:read', user),
    write: keys.or('payments:write', user),
    refund: keys.or('refunds:write', admin),
    operate: keys.or('payments:read', user),
    retry: keys.or('payments:write', admin),
  }
}

/**
 * Who may manage event endpoints. With open access anyone may, and sees their replies, but only on loopback:
 * what an endpoint on this machine replies must not be readable from other machines.
 */
export function endpointGuards(
  { access, production, host }: PaymentsConfig,
  keyGuard: KeyGuard,
  { admin, recent }: { admin: Guard | undefined; recent: Guard },
) {
  const isOpen = access === 'open' && !production && isLoopback(host)
  if (!isOpen) return eventGuards(keyGuard, admin, recent)
  return { read: anyone, write: anyone, admin: anyone, seesReplies: () => true }
}
