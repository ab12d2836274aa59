import type { PasskeyCreationOptions } from '@plinth/client'
import { browserIn } from '../../../shared/account/browser-name.ts'
import type { Reply } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button, ConfirmButton } from '../../../shared/components/button.tsx'
import { csrfHeader, useOwnPasskeys } from '../../own-account.ts'
import { SUPPORTED } from '../../passkeys/support.ts'
import { Failure, Section } from '../parts.tsx'
import { dateIn, filled, texts } from '../texts/texts.ts'
import { session } from '../ways-in/session.ts'

/** Undefined if the user has closed the dialog of the browser. */
async function addPasskey(): Promise<Reply | undefined> {
  const headers = await csrfHeader(session.api)
  const path = '/webauthn/register'
  const asked = await session.api.post<PasskeyCreationOptions>(`${path}/options`, undefined, {
    headers,
  })
  if (!asked.ok) return asked
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(asked.body)
  const made = await navigator.credentials.create({ publicKey }).catch(() => null)
  if (!(made instanceof PublicKeyCredential)) return undefined
  const label = browserIn(navigator.userAgent).name ?? texts.passkeysTitle
  const json = { publicKey: { credential: made.toJSON(), label } }
  return session.api.post(path, json, { headers })
}

/** Lets owners add a passkey, and remove one that is not theirs. */
export function Passkeys() {
  const { passkeys, remove } = useOwnPasskeys(session.api)
  const add = useAction(addPasskey, passkeys.reload)
  if (!passkeys.body) return null
  if (!SUPPORTED && passkeys.body.length === 0) return null
  return (
    <Section title={texts.passkeysTitle}>
      {passkeys.body.length === 0 && <p>{texts.passkeysAbout}</p>}
      <ul class="devices" hidden={passkeys.body.length === 0}>
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
      {SUPPORTED && (
        <div class="row">
          <Button busy={add.busy} onClick={() => add.run()}>
            {texts.passkeyAdd}
          </Button>
        </div>
      )}
      <Failure reply={add.refusal ?? remove.refusal} />
    </Section>
  )
}
