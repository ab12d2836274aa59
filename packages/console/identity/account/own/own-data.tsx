import type { ScheduledDeletion } from '@plinth/client'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button, ConfirmButton } from '../../../shared/components/button.tsx'
import { saveFile } from '../../../shared/files/save-file.ts'
import { Failure, Section } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { session } from './session.ts'

export function OwnData({ erased }: { erased(at: string): void }) {
  const take = useAction(
    () => session.api.post('/api/users/me/export/file'),
    (reply) => reply?.ok && saveFile(reply.content, 'my-data.json'),
  )
  const erase = useAction(
    () => session.api.delete<ScheduledDeletion>('/api/users/me'),
    (reply) => reply?.ok && erased(reply.body.deletesAt),
  )
  return (
    <Section title={texts.dataTitle}>
      <div class="row">
        <Button busy={take.busy} onClick={() => take.run()}>
          {texts.exportData}
        </Button>
        <ConfirmButton
          kind="danger"
          question={texts.eraseAsk}
          yes={texts.eraseConfirm}
          no={texts.cancel}
          busy={erase.busy}
          onClick={() => erase.run()}
        >
          {texts.erase}
        </ConfirmButton>
      </div>
      <Failure reply={take.refusal ?? erase.refusal} />
    </Section>
  )
}
