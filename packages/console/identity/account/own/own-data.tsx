import { Button, ConfirmButton } from '../../../shared/components/button.tsx'
import { useOwnData } from '../../own-account.ts'
import { Failure, Section } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { session } from '../ways-in/session.ts'

export function OwnData({ erased }: { erased(at: string): void }) {
  const { take, erase } = useOwnData(session.api, erased)
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
