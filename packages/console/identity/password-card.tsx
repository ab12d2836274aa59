import { Button } from '../shared/parts/button.tsx'
import { Card, Notice } from '../shared/parts/card.tsx'
import { Field } from '../shared/parts/field.tsx'
import { Form } from '../shared/parts/form.tsx'
import { faultOf, Refusal } from '../shared/parts/refusal.tsx'
import { useAction } from '../shared/use-reply.ts'
import { session } from './session.ts'

export function PasswordCard() {
  const change = useAction((values: Record<string, string>) =>
    session.api.post('/api/users/me/password', values),
  )
  return (
    <Card title="Change the password" about="Ends every other session of this account.">
      <Form
        label="Change the password"
        onSend={async (values, form) => {
          const reply = await change.run(values)
          if (reply?.ok) form.reset()
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
            hint="At least 12 characters."
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
