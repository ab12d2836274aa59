import { type Db, inTransaction, lastly } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import { insertCode } from '../database/authorizations.repository.ts'
import type { BrowserSession } from '../database/client-sessions.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { AUTHORIZATION_CODE_SECONDS } from '../limits.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { OpenId } from './openid.ts'

/** A code that the client exchanges for tokens. */
export async function issueCode(
  { clock }: Pick<OpenId, 'clock'>,
  db: Db<IdentityTables>,
  { client, request }: { client: Client; request: AuthorizationRequest },
  session: BrowserSession,
): Promise<string> {
  const code = newOpaqueToken()
  const row = {
    codeHash: hashOpaqueToken(code),
    clientId: client.clientId,
    userId: session.user.id,
    sessionId: session.id,
    redirectUri: request.redirectUri,
    codeChallenge: request.codeChallenge ?? null,
    nonce: request.nonce ?? null,
    scope: request.scopes.join(' '),
    resources: JSON.stringify(request.resources),
    expiresAt: secondsAfter(clock(), AUTHORIZATION_CODE_SECONDS).toISOString(),
    usedAt: null,
    givenSessionId: null,
  }
  // Codes that are issued at the same time share a commit.
  await inTransaction(db, async (inside) => lastly(insertCode(inside, row)))
  return code
}
