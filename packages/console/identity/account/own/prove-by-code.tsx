import { useSignal } from '@preact/signals'
import { proving } from '../../../shared/account/session/proving.ts'
import type { Reply } from '../../../shared/api/api.ts'
import { Button } from '../../../shared/components/button.tsx'
import { INBOX } from '../../../shared/components/icon.tsx'
import { facts } from '../../../shared/shell/facts.ts'
import { texts } from '../texts/texts.ts'
import { MailedCode } from '../ways-in/mailed-code.tsx'
import { SecondStep } from '../ways-in/second-step.tsx'
import { session } from '../ways-in/session.ts'

/** For users without a password: a new sign-in is a proof as well. It takes the place of the session before it. */
export function ProveByCode({ email }: { email: string }) {
  const chosen = useSignal(false)
  const before = useSignal(session.decoded.value?.claims.sid).value
  const signedIn = async (reply: Reply | undefined) => {
    if (!reply?.ok) return
    await session.api.delete('/api/users/me/sessions/{id}', { path: { id: String(before) } })
    proving.value?.(true)
  }
  if (session.secondStep.value) return <SecondStep signedIn={signedIn} />
  if (chosen.value) return <MailedCode email={email} signedIn={signedIn} />
  if (!facts.value.signInCode)
    return (
      <>
        <p>{texts.proveAgain}</p>
        <div class="row">
          <Button kind="primary" onClick={() => session.logOut()}>
            {texts.signInAgain}
          </Button>
        </div>
      </>
    )
  return (
    <>
      <p>{texts.proveByMail}</p>
      <div class="row">
        <Button
          kind="primary"
          icon={INBOX}
          onClick={() => {
            chosen.value = true
          }}
        >
          {texts.codeSignIn}
        </Button>
      </div>
    </>
  )
}
