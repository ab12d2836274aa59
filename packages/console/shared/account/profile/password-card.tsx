import { useAction } from '../../api/use-reply.ts'
import { Form, type Values } from '../../components/form.tsx'
import { Card } from '../../components/page.tsx'
import { Success } from '../../components/reply.tsx'
import { facts } from '../../shell/facts.ts'
import type { Session } from '../session/session.ts'

export function PasswordCard(props: { session: Session; onChange(): void }) {
  const change = useAction(
    (values: Values) => props.session.api.post('/api/users/me/password', values),
    (reply) => reply?.ok && props.onChange(),
  )
  return (
    <Card title="Change the password" about="Ends every other session of this account.">
      <Form
        label="Change the password"
        fields={[
          {
            label: 'Current password',
            name: 'currentPassword',
            type: 'password',
            autocomplete: 'current-password',
          },
          {
            label: 'New password',
            name: 'newPassword',
            type: 'password',
            autocomplete: 'new-password',
            hint: `At least ${facts.value.passwordMinLength ?? 12} characters.`,
          },
        ]}
        action={change}
        send="Change password"
        round={change.successes}
      />
      {change.reply?.ok && <Success>Password changed.</Success>}
    </Card>
  )
}
