import { useAction } from '../../api/use-reply.ts'
import { Form, type Values } from '../../components/form.tsx'
import { Card } from '../../components/page.tsx'
import { Success } from '../../components/reply.tsx'
import { facts } from '../../shell/facts.ts'
import { markRegistered } from '../registered-here.ts'
import type { Session } from './session.ts'

export function RegisterCard({ session }: { session: Session }) {
  const { api, signIn } = session
  const register = useAction(async (values: Values) => {
    const reply = await api.post('/api/auth/register', { json: values, open: true })
    if (reply.ok) {
      await markRegistered(values.email ?? '')
      if (reply.status === 201) await signIn(values)
    }
    return reply
  })
  if (facts.value.registration === false) return null
  return (
    <Card
      title="Register"
      about={
        facts.value.registrationByMail
          ? 'Sends you a mail. The account is created when you confirm it.'
          : 'Creates an account and signs you in.'
      }
    >
      <Form
        label="Register"
        fields={[
          { label: 'Username', name: 'username', autocomplete: 'username' },
          { label: 'E-mail', name: 'email', type: 'email', autocomplete: 'email' },
          {
            label: 'Password',
            name: 'password',
            type: 'password',
            autocomplete: 'new-password',
            hint: `At least ${facts.value.passwordMinLength ?? 12} characters.`,
          },
        ]}
        action={register}
        send="Create account"
      />
      {register.reply?.ok && (
        <Success>
          {'username' in register.reply.body
            ? `Account ${register.reply.body.username} created.`
            : register.reply.body.message}
        </Success>
      )}
    </Card>
  )
}
