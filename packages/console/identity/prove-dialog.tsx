import { ProofDialog } from '../shared/account/session/proof-dialog.tsx'
import { proving } from '../shared/account/session/proving.ts'
import { useAction } from '../shared/api/use-reply.ts'
import { Button } from '../shared/components/button.tsx'
import { type FieldProps, Form, type Values } from '../shared/components/form.tsx'
import { session } from './session.ts'

export const PROOF: FieldProps[] = [
  { label: 'Password', name: 'password', type: 'password', autocomplete: 'current-password' },
  {
    label: 'Code',
    name: 'code',
    autocomplete: 'one-time-code',
    optional: true,
    hint: 'If there is a second factor.',
  },
]

export const reauthenticate = (proof: Values) => session.api.post('/api/auth/reauthenticate', proof)

/** Asks for the password before a call that requires a recent reauthentication, which is then repeated. */
export function ProveDialog() {
  const prove = useAction(reauthenticate, (reply) => reply?.ok && proving.value?.(true))
  const cancel = () => {
    prove.reset()
    proving.value?.(false)
  }
  return (
    <ProofDialog
      about="This change needs a fresh proof. Afterwards it continues by itself."
      onCancel={cancel}
    >
      <Form
        label="Is it still you?"
        fields={PROOF}
        action={prove}
        send="Continue"
        kind="primary"
        buttons={<Button onClick={cancel}>Cancel</Button>}
      />
    </ProofDialog>
  )
}
