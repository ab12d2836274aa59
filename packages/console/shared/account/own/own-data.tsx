import type { IdentityApi } from '@plinth/client'
import type { Api } from '../../api/api.ts'
import { Button, ConfirmButton } from '../../components/button.tsx'
import { Success } from '../../components/reply.tsx'
import { useLook } from './look.ts'
import { useOwnData } from './own-account.ts'

/** Lets users export their own data and delete their account. */
type Props = { api: Api<IdentityApi.Replies>; erased(at: string): void }

export function OwnData({ api, erased }: Props) {
  const { words, Section, Failure } = useLook()
  const { take, erase } = useOwnData(api, erased)
  return (
    <Section title={words.dataTitle}>
      <div class="row">
        <Button busy={take.busy} onClick={() => take.run()}>
          {words.exportData}
        </Button>
        <ConfirmButton
          kind="danger"
          question={words.eraseAsk}
          yes={words.eraseConfirm}
          no={words.cancel}
          busy={erase.busy}
          onClick={() => erase.run()}
        >
          {words.erase}
        </ConfirmButton>
      </div>
      <Failure reply={take.refusal ?? erase.refusal} />
      {take.reply?.ok && <Success>{words.exported}</Success>}
    </Section>
  )
}
