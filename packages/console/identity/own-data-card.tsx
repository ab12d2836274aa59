import type { ScheduledDeletion } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useAction } from '../shared/api/use-reply.ts'
import { Button, ConfirmButton } from '../shared/components/button.tsx'
import { Card } from '../shared/components/page.tsx'
import { Refusal, Success } from '../shared/components/reply.tsx'
import { saveFile } from '../shared/files/save-file.ts'
import { dateText } from '../shared/wording.ts'
import { session } from './session.ts'

/** Lets all users export their own data and delete their account. */
export function OwnDataCard() {
  const left = useSignal<string | undefined>(undefined)
  const take = useAction(async () => {
    const reply = await session.api.post('/api/users/me/export/file')
    if (reply.ok) saveFile(reply.content, 'my-data.json')
    return reply
  })
  const erase = useAction(async () => {
    const reply = await session.api.delete<ScheduledDeletion>('/api/users/me')
    if (reply.ok) left.value = reply.body.deletesAt
    return reply
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
