import { useAction } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { api } from '../account.ts'
import { Done, Failure, Heading } from '../parts.tsx'
import { texts } from '../texts/texts.ts'

/** The request that awaits an answer. */
const request = new URLSearchParams(location.search).get('request') ?? ''

/** An application asks to end the session of this browser, and cannot prove that its user wants that. */
export function SignOutPage() {
  const signOut = useAction(
    () => api.post('/api/sign-outs/{id}', { path: { id: request }, json: {} }),
    (reply) => {
      if (reply?.ok && reply.body.redirectTo !== null) location.replace(reply.body.redirectTo)
    },
  )
  // Without a request there is nothing left to ask.
  if (signOut.reply?.ok || request === '')
    return <Done title={texts.signOutDone} about={texts.close} />
  return (
    <>
      <Heading>{texts.signOutTitle}</Heading>
      <p>{texts.signOutAbout}</p>
      <div class="row">
        <Button kind="primary" busy={signOut.busy} onClick={() => signOut.run()}>
          {texts.signOut}
        </Button>
      </div>
      <p class="soft">{texts.signOutNot}</p>
      <Failure reply={signOut.refusal} meanings={{ SIGN_OUT_UNKNOWN: texts.signOutUnknown }} />
    </>
  )
}
