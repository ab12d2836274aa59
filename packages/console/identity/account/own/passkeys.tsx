import { useSignal } from '@preact/signals'
import { browserIn } from '../../../shared/account/browser-name.ts'
import { csrfHeader } from '../../../shared/account/own/own-account.ts'
import { SUPPORTED } from '../../../shared/account/own/passkey-support.ts'
import { Passkeys } from '../../../shared/account/own/passkeys.tsx'
import type { Reply } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { Failure } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { session } from '../ways-in/session.ts'

/** The passkeys of the user, and a button that adds one named after the browser. */
export function OwnPasskeys() {
  const version = useSignal(0)
  const add = useAction(addPasskey, () => {
    version.value += 1
  })
  return (
    <Passkeys api={session.api} version={version.value}>
      {SUPPORTED && (
        <div class="row">
          <Button busy={add.busy} onClick={() => add.run()}>
            {texts.passkeyAdd}
          </Button>
        </div>
      )}
      <Failure reply={add.refusal} />
    </Passkeys>
  )
}

/** Undefined if the user has closed the dialog of the browser. */
async function addPasskey(): Promise<Reply | undefined> {
  const headers = await csrfHeader(session.api)
  const asked = await session.api.post('/webauthn/register/options', { headers })
  if (!asked.ok) return asked
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(asked.body)
  const made = await navigator.credentials.create({ publicKey }).catch(() => null)
  if (!(made instanceof PublicKeyCredential)) return undefined
  const label = browserIn(navigator.userAgent).name ?? texts.passkeysTitle
  const json = { publicKey: { credential: made.toJSON(), label } }
  return session.api.post('/webauthn/register', { json, headers })
}
