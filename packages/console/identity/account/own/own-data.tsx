import { useSignal } from '@preact/signals'
import { Button } from '../../../shared/components/button.tsx'
import { saveFile } from '../../../shared/files/save-file.ts'
import { Failure, Section } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { session, useOwnAction } from './session.ts'

export function OwnData({ erased }: { erased(at: string): void }) {
  const asked = useSignal(false)
  const take = useOwnAction(
    () => session.api.post('/api/users/me/export/file'),
    (reply) => reply?.ok && saveFile(reply.content, 'my-data.json'),
  )
  const erase = useOwnAction(
    () => session.api.delete('/api/users/me'),
    (reply) => reply?.ok && erased(reply.body.deletesAt),
  )
  const ask = (value: boolean) => () => {
    asked.value = value
  }
  return (
    <Section title={texts.dataTitle}>
      <div class="row">
        <Button busy={take.busy} onClick={() => take.run()}>
          {texts.exportData}
        </Button>
        {!asked.value && (
          <Button kind="danger" onClick={ask(true)}>
            {texts.erase}
          </Button>
        )}
      </div>
      {asked.value && (
        <div role="alert" class="stack">
          <p>{texts.eraseAsk}</p>
          <div class="row">
            <Button kind="danger" busy={erase.busy} onClick={() => erase.run()}>
              {texts.eraseConfirm}
            </Button>
            <Button onClick={ask(false)}>{texts.cancel}</Button>
          </div>
        </div>
      )}
      <Failure reply={take.refusal ?? erase.refusal} />
    </Section>
  )
}
