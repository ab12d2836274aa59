import { Notice } from '../../../shared/components/page.tsx'
import { brand } from '../account.ts'
import { Ask, Section } from '../parts.tsx'
import { filled, texts } from '../texts/texts.ts'
import { session, useOwnAction } from './session.ts'

type Values = Record<string, string>

export function Address({ email }: { email: string }) {
  const change = useOwnAction((values: Values) => session.api.post('/api/users/me/email', values))
  return (
    <Section title={texts.email}>
      <p>{filled(texts.addressNow, { email })}</p>
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
      {change.reply?.ok && <Saved>{texts.addressSent}</Saved>}
    </Section>
  )
}

export function Password() {
  const change = useOwnAction((values: Values) =>
    session.api.post('/api/users/me/password', values),
  )
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
