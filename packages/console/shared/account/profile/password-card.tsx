import { useAction } from '../../api/use-reply.ts'
import { Form, type Values } from '../../components/form.tsx'
import { Card } from '../../components/page.tsx'
import { Success } from '../../components/reply.tsx'
import type { Session } from '../session/session.ts'

export function PasswordCard(props: { session: Session; passwordMinimum: number }) {
  const change = useAction((values: Values) =>
    props.session.api.post('/api/users/me/password', values),
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
            hint: `At least ${props.passwordMinimum} characters.`,
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
