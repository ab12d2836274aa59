import { useSignal } from '@preact/signals'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { Notice } from '../../../shared/components/page.tsx'
import { brand, post } from '../account.ts'
import { CodeForm } from '../by-code.tsx'
import { Ask, Failure, InboxLink, Section } from '../parts.tsx'
import { filled, texts } from '../texts/texts.ts'
import { session } from '../ways-in/session.ts'

type Values = Record<string, string>

type Props = { email: string; verified: boolean; changed(): unknown }

export function Address({ email, verified, changed }: Props) {
  const sentTo = useSignal('')
  const change = useAction(async (values: Values) => {
    const reply = await session.api.post('/api/users/me/email', values)
    if (reply.ok) sentTo.value = values.newEmail ?? ''
    return reply
  })
  const confirmed = () => {
    sentTo.value = ''
    return changed()
  }
  return (
    <Section title={texts.email}>
      <p>{filled(texts.addressNow, { email })}</p>
      {!verified && <Unconfirmed email={email} confirmed={changed} />}
      <Ask
        label={texts.addressChange}
        fields={[
          { label: texts.newAddress, name: 'newEmail', type: 'email', autocomplete: 'email' },
        ]}
        refused={{ newEmail: texts.addressRefused }}
        action={change}
        send={texts.send}
        plain
      />
      {sentTo.value !== '' && (
        <>
          <Saved>{texts.addressSent}</Saved>
          <InboxLink />
          <CodeForm
            of="email"
            email={sentTo.value}
            label={texts.emailByCode}
            confirmed={confirmed}
            plain
          />
        </>
      )}
    </Section>
  )
}

function Unconfirmed({ email, confirmed }: { email: string; confirmed(): unknown }) {
  const resend = useAction(() => post('/api/auth/verify-email/resend', { email }))
  return (
    <>
      <Notice tone="warn">
        <p>{texts.notConfirmed}</p>
      </Notice>
      <CodeForm of="verify" email={email} label={texts.resendTitle} confirmed={confirmed} plain />
      <div class="row">
        <Button small busy={resend.busy} onClick={() => resend.run()}>
          {texts.again}
        </Button>
      </div>
      {resend.reply?.ok && (
        <>
          <Saved>{texts.mailSent}</Saved>
          <InboxLink />
        </>
      )}
      <Failure reply={resend.refusal} />
    </>
  )
}

export function Password() {
  const change = useAction((values: Values) => session.api.post('/api/users/me/password', values))
  const count = brand.value?.passwordMinLength ?? 12
  return (
    <Section title={texts.password}>
      <Ask
        key={change.successes}
        label={texts.passwordChange}
        fields={[
          {
            label: texts.currentPassword,
            name: 'currentPassword',
            type: 'password',
            autocomplete: 'current-password',
          },
          {
            label: texts.newPassword,
            name: 'newPassword',
            type: 'password',
            autocomplete: 'new-password',
            hint: filled(texts.passwordHint, { count }),
          },
        ]}
        refused={{ currentPassword: texts.currentRefused, newPassword: texts.passwordRefused }}
        action={change}
        send={texts.save}
        plain
      />
      {change.reply?.ok && <Saved>{texts.passwordSaved}</Saved>}
    </Section>
  )
}

function Saved({ children }: { children: string }) {
  return (
    <div role="status">
      <Notice tone="good">
        <p>{children}</p>
      </Notice>
    </div>
  )
}
