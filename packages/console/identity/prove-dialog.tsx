import { useLayoutEffect, useRef } from 'preact/hooks'
import { useAction } from '../shared/api/use-reply.ts'
import { Button } from '../shared/components/button.tsx'
import { type FieldProps, Form, type Values } from '../shared/components/form.tsx'
import { proving } from './proving.ts'
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
  const dialog = useRef<HTMLDialogElement>(null)
  const prove = useAction(reauthenticate, (reply) => reply?.ok && proving.value?.(true))
  const asks = proving.value !== undefined
  useLayoutEffect(() => {
    if (asks) dialog.current?.showModal()
    else dialog.current?.close()
  }, [asks])
  const cancel = () => {
    prove.reset()
    proving.value?.(false)
  }
  return (
    <dialog ref={dialog} class="proof" aria-labelledby="proof-title" onClose={cancel}>
      {asks && (
        <div class="stack">
          <h2 id="proof-title">Is it still you?</h2>
          <p>This change needs a fresh proof. Afterwards it continues by itself.</p>
          <Form
            label="Is it still you?"
            fields={PROOF}
            action={prove}
            send="Continue"
            kind="primary"
            buttons={<Button onClick={cancel}>Cancel</Button>}
          />
        </div>
      )}
    </dialog>
  )
}
