import { ConfirmButton } from '../../../shared/components/button.tsx'
import { useOwnPasskeys } from '../../own-account.ts'
import { Failure, Section } from '../parts.tsx'
import { dateIn, filled, texts } from '../texts/texts.ts'
import { session } from '../ways-in/session.ts'

/** Lets owners remove a passkey that is not theirs. */
export function Passkeys() {
  const { passkeys, remove } = useOwnPasskeys(session.api)
  if (!passkeys.body?.length) return null
  return (
    <Section title={texts.passkeysTitle}>
      <ul class="devices">
        {passkeys.body.map(({ id, label, createdAt, lastUsedAt }) => (
          <li key={id} class="row apart">
            <span>
              {label}
              <br />
              <span class="soft small">
                {filled(texts.added, { date: dateIn(createdAt) })} ·{' '}
                {filled(texts.lastUsed, { date: dateIn(lastUsedAt) })}
              </span>
            </span>
            <ConfirmButton
              small
              kind="danger"
              subject={label}
              question={texts.passkeyRemoveAsk}
              yes={texts.remove}
              no={texts.cancel}
              onClick={() => remove.run(id)}
            >
              {texts.remove}
            </ConfirmButton>
          </li>
        ))}
      </ul>
      <Failure reply={remove.refusal} />
    </Section>
  )
}
