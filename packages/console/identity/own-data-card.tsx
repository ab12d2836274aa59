import { useSignal } from '@preact/signals'
import { Button, ConfirmButton } from '../shared/components/button.tsx'
import { Card } from '../shared/components/page.tsx'
import { Refusal, Success } from '../shared/components/reply.tsx'
import { dateText } from '../shared/wording.ts'
import { useOwnData } from './own-account.ts'
import { session } from './session.ts'

/** Lets all users export their own data and delete their account. */
export function OwnDataCard() {
  const left = useSignal<string | undefined>(undefined)
  const { take, erase } = useOwnData(session.api, (at) => {
    left.value = at
  })
  return (
    <Card
      title="Your data"
      about="Export everything that is kept about you as one file, or delete this account."
    >
      <div class="row">
        <Button busy={take.busy} onClick={() => take.run()}>
          Export my data
        </Button>
        <ConfirmButton
          kind="danger"
          question="Erase the account and everything in it?"
          busy={erase.busy}
          onClick={() => erase.run()}
        >
          Delete my account
        </ConfirmButton>
      </div>
      <Refusal reply={take.refusal ?? erase.refusal} />
      {take.reply?.ok && <Success>Your data is saved as my-data.json.</Success>}
      {left.value !== undefined && (
        <Success>
          Every session has ended. The account is erased on {dateText(left.value)}; until then sign
          in, or open the link in the mail, to keep it.
        </Success>
      )}
    </Card>
  )
}
