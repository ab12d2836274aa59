import { type Clock, callerGuard, createRemoteIssuer, type Guard } from '@plinth/kit'

/** What a route asks of its caller; empty as shipped, where the host application does the asking. */
export type PaymentGuard = { caller: Guard[]; refunder: Guard[] }

type IssuerSettings = { url: string; audience: string } | undefined

/** With an issuer configured, callers show its token, and only administrators give money back. */
export function paymentGuard(issuer: IssuerSettings, clock: Clock): PaymentGuard {
  if (!issuer) return { caller: [], refunder: [] }
  const tokens = createRemoteIssuer({ issuer: issuer.url, audience: issuer.audience, clock })
  const guard = callerGuard((token) => tokens.verify(token))
  return { caller: [guard.caller], refunder: [guard.role('ROLE_ADMIN')] }
}
