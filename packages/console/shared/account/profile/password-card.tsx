import { useSignal } from '@preact/signals'
import { useAction } from '../../api/use-reply.ts'
import { Button } from '../../components/button.tsx'
import { Field, Form } from '../../components/form.tsx'
import { Card, Notice } from '../../components/page.tsx'
import { faultOf, Refusal } from '../../components/refusal.tsx'
import type { Session } from '../session/session.ts'

export function PasswordCard(props: { session: Session; passwordMinimum: number }) {
  const changes = useSignal(0)
  const change = useAction((values: Record<string, string>) =>
    props.session.api.post('/api/users/me/password', values),
  )
  return (
    <Card title="Change the password" about="Ends every other session of this account.">
      <Form
        key={changes.value}
        label="Change the password"
        onSend={async (values) => {
          const reply = await change.run(values)
          if (reply?.ok) changes.value += 1
        }}
      >
        <div class="columns">
          <Field
            label="Current password"
            name="currentPassword"
            type="password"
            autocomplete="current-password"
            fault={faultOf(change.reply, 'currentPassword')}
          />
          <Field
            label="New password"
            name="newPassword"
            type="password"
            autocomplete="new-password"
            hint={`At least ${props.passwordMinimum} characters.`}
            fault={faultOf(change.reply, 'newPassword')}
          />
        </div>
        <div>
          <Button submits busy={change.busy}>
            Change password
          </Button>
        </div>
      </Form>
      <Refusal reply={change.refusal} />
      {change.reply?.ok && (
        <Notice tone="good">
          <p role="status">Password changed.</p>
        </Notice>
      )}
    </Card>
  )
}
