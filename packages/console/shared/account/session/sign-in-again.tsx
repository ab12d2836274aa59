import { useAction } from '../../api/use-reply.ts'
import { Button } from '../../components/button.tsx'
import { Form } from '../../components/form.tsx'
import { Notice } from '../../components/page.tsx'
import { provider, refusal, signInAt } from './code-flow/provider.ts'
import { ProofDialog } from './proof-dialog.tsx'
import { proving } from './proving.ts'
import type { Session } from './session.ts'

/** Asks for a new sign-in before a call that requires a recent one, where the service has no reauthentication. */
export function SignInAgain({ session }: { session: Session }) {
  return session.isProvided.value ? <AtProvider /> : <WithPassword session={session} />
}

/** The call is then repeated. */
function WithPassword({ session }: { session: Session }) {
  const username = session.claims.value?.username ?? ''
  const again = useAction(
    ({ password = '' }: { password?: string }) => session.signIn({ username, password }),
    (reply) => reply?.ok && proving.value?.(true),
  )
  const cancel = () => {
    again.reset()
    proving.value?.(false)
  }
  return (
    <ProofDialog
      about="This change needs a recent sign-in. Afterwards it continues by itself."
      onCancel={cancel}
    >
      <Form
        label="Is it still you?"
        fields={[
          {
            label: 'Password',
            name: 'password',
            type: 'password',
            autocomplete: 'current-password',
          },
        ]}
        action={again}
        send="Sign in again"
        kind="primary"
        buttons={<Button onClick={cancel}>Cancel</Button>}
      />
    </ProofDialog>
  )
}

/** The browser leaves for the provider, so the user repeats the call. */
function AtProvider() {
  const cancel = () => proving.value?.(false)
  const go = async () => {
    if (provider.value) await signInAt(provider.value, { again: true })
  }
  return (
    <ProofDialog
      about="This change needs a recent sign-in. You come back to this page; then make the change again."
      onCancel={cancel}
    >
      <div class="row">
        <Button kind="primary" icon="person" onClick={go}>
          Sign in again
        </Button>
        <Button onClick={cancel}>Cancel</Button>
      </div>
      {refusal.value !== undefined && (
        <Notice tone="bad" alert>
          <p>The sign-in did not work: {refusal.value}.</p>
        </Notice>
      )}
    </ProofDialog>
  )
}
