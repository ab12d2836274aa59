import type { Authorization } from '@plinth/client'
import { filled } from '../../../shared/account/own/words.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { Failure, Heading } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { type Decision, decide } from './authorization.ts'

type Account = NonNullable<Authorization['account']>

/** This browser is signed in already, and the application lets the user choose. */
export function ChooseAccount({ asked, account }: { asked: Authorization; account: Account }) {
  const choose = useAction((action: Decision) => decide(action))
  const { username, email } = account
  return (
    <>
      <Heading>{texts.chooseTitle}</Heading>
      <p>{filled(texts.signInFor, { client: asked.client.name })}</p>
      <div class="stack">
        <Button kind="primary" busy={choose.busy} onClick={() => choose.run('continue')}>
          {filled(texts.continueAs, { username })}
        </Button>
        <p class="soft">{email}</p>
        <Button busy={choose.busy} onClick={() => choose.run('switch')}>
          {texts.otherAccount}
        </Button>
      </div>
      <Failure reply={choose.refusal} />
    </>
  )
}
