import type { PasskeyCreationOptions } from '@plinth/client'
import { firstSteps, session } from '../session.ts'
import { originWords, readAuthenticatorData, readClientData } from './authenticator-data.ts'
import { askBrowser, beginCeremony, failStep, fetchCsrfHeader, finishStep } from './ceremony.ts'

/** The registration ceremony, shown in five steps. */
export async function addPasskey(label: string): Promise<void> {
  beginCeremony()
  const csrf = await fetchCsrfHeader()
  const options = await fetchOptions(csrf)
  const credential = await askBrowser(() =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
    }),
  )
  showReply(credential)
  const body = { publicKey: { credential: credential.toJSON(), label } }
  const reply = await session.api.post('/webauthn/register', { json: body, headers: csrf })
  if (!reply.ok) failStep(4, { refusal: reply })
  finishStep(4, { Result: `“${label}” can now sign you in` })
  firstSteps.passkeyAdded.value = true
}

async function fetchOptions(csrf: Record<string, string>): Promise<PasskeyCreationOptions> {
  const reply = await session.api.post('/webauthn/register/options', { headers: csrf })
  if (!reply.ok) failStep(1, { refusal: reply })
  const { rp, user, challenge, pubKeyCredParams, excludeCredentials } = reply.body
  finishStep(1, {
    'Relying party': `${rp.id} (${rp.name})`,
    Account: user.name,
    Challenge: `${challenge.slice(0, 16)}…, valid once`,
    Algorithms: pubKeyCredParams.map(({ alg }) => ALGORITHMS[alg] ?? alg).join(', '),
    'Passkeys this account already has': String(excludeCredentials.length),
  })
  return reply.body
}

const ALGORITHMS: Record<number, string> = { [-7]: 'ES256', [-8]: 'EdDSA', [-257]: 'RS256' }

function showReply(credential: PublicKeyCredential): void {
  const response = credential.response as AuthenticatorAttestationResponse
  const { clientDataJSON } = credential.toJSON().response as { clientDataJSON: string }
  const client = readClientData(clientDataJSON)
  finishStep(3, {
    Origin: originWords(client.origin),
    ...readAuthenticatorData(new Uint8Array(response.getAuthenticatorData())),
    Key: ALGORITHMS[response.getPublicKeyAlgorithm()] ?? 'unknown algorithm',
    Reached: response.getTransports().join(', ') || 'not disclosed',
  })
}
