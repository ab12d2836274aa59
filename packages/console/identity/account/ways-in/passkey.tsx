import { useEffect } from 'preact/hooks'
import { csrfHeader } from '../../../shared/account/own/own-account.ts'
import { SUPPORTED } from '../../../shared/account/own/passkey-support.ts'
import type { Reply } from '../../../shared/api/api.ts'
import { Button } from '../../../shared/components/button.tsx'
import { PASSKEY } from '../../../shared/components/icon.tsx'
import { session } from './session.ts'

/** A browser has one passkey request at a time, so a new one ends the request that waits in a field. */
let pending: AbortController | undefined

/** The assertion of the user's passkey and the header to send it with; undefined if there is none. */
export async function askPasskey(mediation?: 'conditional') {
  pending?.abort()
  const own = new AbortController()
  pending = own
  const headers = await csrfHeader(session.api)
  const options = await session.api.post('/webauthn/authenticate/options', { open: true, headers })
  if (!options.ok || own.signal.aborted) return undefined
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.body)
  const { signal } = own
  const request = { publicKey, signal, ...(mediation && { mediation }) }
  // The browser has told the user why there is none.
  const credential = await navigator.credentials.get(request).catch(() => null)
  return credential ? { headers, passkey: (credential as PublicKeyCredential).toJSON() } : undefined
}

/** Undefined if there was no passkey, or if the second factor comes next. */
export async function signInByPasskey(mediation?: 'conditional'): Promise<Reply | undefined> {
  const asked = await askPasskey(mediation)
  if (!asked) return undefined
  const { headers, passkey } = asked
  const call = session.api.post('/login/webauthn', { json: passkey, headers, open: true })
  const reply = session.received(await call)
  return session.secondStep.value ? undefined : reply
}

/** Lets the browser offer passkeys in the field whose `autocomplete` has the word `webauthn`. */
export function usePasskeysInField(signIn: () => unknown, isOffered: boolean): void {
  useEffect(() => {
    let shown = isOffered && SUPPORTED
    const offer = async () => {
      const canOffer = await PublicKeyCredential.isConditionalMediationAvailable?.()
      if (shown && canOffer) signIn()
    }
    if (shown) offer()
    return () => {
      shown = false
      pending?.abort()
    }
  }, [isOffered])
}

type PasskeyButtonProps = { action: { run(): unknown; busy: boolean }; children: string }

export function PasskeyButton({ action, children }: PasskeyButtonProps) {
  if (!SUPPORTED) return null
  return (
    <Button icon={PASSKEY} busy={action.busy} onClick={() => action.run()}>
      {children}
    </Button>
  )
}
