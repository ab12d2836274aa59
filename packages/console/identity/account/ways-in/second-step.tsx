import { problemIn, type Refusal, type Reply } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { Ask, Heading } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { session } from './session.ts'

const FACTOR = {
  label: texts.factor,
  name: 'code',
  hint: texts.factorHint,
  autocomplete: 'one-time-code',
}

type SignedIn = (reply: Reply | undefined) => unknown

/** Shown when the first factor was right and the account has a second one. */
export function SecondStep({ signedIn }: { signedIn?: SignedIn }) {
  const complete = useAction(session.completeSignIn, async (reply) => {
    if (problemIn(reply)?.token) session.secondStep.value = false
    followToken(problemIn(reply))
    await signedIn?.(reply)
  })
  return (
    <>
      <Heading>{texts.secondStepTitle}</Heading>
      <Ask
        label={texts.secondStepTitle}
        fields={[{ ...FACTOR, focused: true }]}
        refused={{ code: texts.factorRefused }}
        action={complete}
        send={texts.signIn}
      />
      <div class="row">
        <Button
          onClick={() => {
            session.secondStep.value = false
          }}
        >
          {texts.startAgain}
        </Button>
      </div>
    </>
  )
}

/** The password or passkey was right, but another step comes first: its page continues with the token. */
export function followToken(problem: Refusal | undefined): void {
  if (problem?.code === 'PASSWORD_CHANGE_REQUIRED') location.hash = `reset=${problem.token}`
  if (problem?.code === 'DELETION_PENDING') location.hash = `keep=${problem.token}`
}
