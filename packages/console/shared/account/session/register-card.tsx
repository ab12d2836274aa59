import { useAction } from '../../api/use-reply.ts'
import { Button } from '../../components/button.tsx'
import { Field, Form } from '../../components/form.tsx'
import { Card, Notice } from '../../components/page.tsx'
import { faultOf, Refusal } from '../../components/refusal.tsx'
import type { Session } from './session.ts'

export function RegisterCard(props: { session: Session; passwordMinimum: number }) {
  const { api, signIn } = props.session
  const register = useAction(async (values: Record<string, string>) => {
    const reply = await api.post('/api/auth/register', values, { open: true })
    if (reply.ok) await signIn(values.username ?? '', values.password ?? '')
    return reply
  })
  const fault = (field: string) => faultOf(register.reply, field)
  return (
    <Card title="Register" about="Creates an account with ROLE_USER and signs you in.">
      <Form label="Register" onSend={register.run}>
        <div class="columns">
          <Field
            label="Username"
            name="username"
            autocomplete="username"
            fault={fault('username')}
          />
          <Field
            label="E-mail"
            name="email"
            type="email"
            autocomplete="email"
            fault={fault('email')}
          />
          <Field
            label="Password"
            name="password"
            type="password"
            autocomplete="new-password"
            hint={`At least ${props.passwordMinimum} characters.`}
            fault={fault('password')}
          />
        </div>
        <div>
          <Button submits busy={register.busy}>
            Create account
          </Button>
        </div>
      </Form>
      <Refusal reply={register.refusal} />
      {register.reply?.ok && (
        <Notice tone="good">
          <p role="status">Account {register.reply.body.username} created.</p>
        </Notice>
      )}
    </Card>
  )
}
