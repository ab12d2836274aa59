import type { Server } from '@plinth/kit/http'
import { accessDenied, accessTokenRejected, callerUnknown } from '@plinth/kit/problems'
import { isSameSecret } from '@plinth/kit/tokens'
import type { SandboxConfig } from '../config.ts'

/**
 * Controls show secrets, sign whatever they are told to, and send requests to addresses of the caller's choice. Where
 * others may reach the sandbox they therefore need a token.
 */
export function guardControls(
  server: Server,
  { production, controlToken }: Pick<SandboxConfig, 'production' | 'controlToken'>,
): void {
  server.addHook('onRequest', async ({ routeOptions, headers: { authorization } }) => {
    if (!routeOptions.url?.startsWith('/sandbox/api/')) return
    if (controlToken !== undefined) return requireToken(controlToken, authorization)
    if (production) throw accessDenied({ detail: CLOSED })
  })
}

const CLOSED = 'In production the controls are closed unless SANDBOX_CONTROL_TOKEN is set.'

function requireToken(expected: string, authorization: string | undefined): void {
  if (authorization === undefined) throw callerUnknown({ detail: MISSING })
  const [, given = ''] = /^bearer +(.*)$/i.exec(authorization) ?? []
  if (!isSameSecret(given.trim(), expected)) throw accessTokenRejected({ detail: WRONG })
}

const MISSING =
  'The controls need the token of SANDBOX_CONTROL_TOKEN: send it as "Authorization: Bearer <token>".'
const WRONG = 'The token is not that of SANDBOX_CONTROL_TOKEN.'
