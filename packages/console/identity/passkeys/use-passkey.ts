import type { PasskeyRequestOptions } from '@plinth/client'
import { bytesOf } from '../../shared/account/session/tokens/decoded-token.ts'
import { firstSteps, session } from '../session.ts'
import { originWords, readAuthenticatorData, readClientData } from './authenticator-data.ts'
import { askBrowser, beginCeremony, failStep, fetchCsrfHeader, finishStep } from './ceremony.ts'

/** The authentication ceremony: it asks for no username, because the passkey identifies the account. */
export async function signInWithPasskey(): Promise<void> {
  beginCeremony()
  const csrf = await fetchCsrfHeader()
  const options = await fetchOptions(csrf)
  const credential = await askBrowser(() =>
    navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
    }),
  )
  showReply(credential)
  const reply = session.received(
    await session.api.post('/login/webauthn', {
      json: credential.toJSON(),
      headers: csrf,
      open: true,
    }),
  )
  if (!reply.ok) failStep(4, { refusal: reply })
  finishStep(4, { Result: `signed in as ${session.claims.value?.username}` })
  firstSteps.passkeyUsed.value = true
}

async function fetchOptions(csrf: Record<string, string>): Promise<PasskeyRequestOptions> {
  const reply = await session.api.post('/webauthn/authenticate/options', {
    headers: csrf,
    open: true,
  })
  if (!reply.ok) failStep(1, { refusal: reply })
  finishStep(1, {
    Domain: reply.body.rpId,
    Challenge: `${reply.body.challenge.slice(0, 16)}…, valid once`,
    Verification: reply.body.userVerification,
  })
  return reply.body
}

function showReply(credential: PublicKeyCredential): void {
  const response = credential.toJSON().response as {
    clientDataJSON: string
    authenticatorData: string
    userHandle?: string
  }
  finishStep(3, {
    Origin: originWords(readClientData(response.clientDataJSON).origin),
    ...readAuthenticatorData(bytesOf(response.authenticatorData)),
    'User handle': response.userHandle ? `${response.userHandle.slice(0, 12)}…` : 'none',
  })
}
