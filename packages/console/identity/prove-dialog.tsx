import { InConsole } from '../shared/account/own/in-console.tsx'
import { Proof } from '../shared/account/own/proof.tsx'
import { ProofDialog } from '../shared/account/session/proof-dialog.tsx'
import { proving } from '../shared/account/session/proving.ts'
import { Button } from '../shared/components/button.tsx'
import { session } from './session.ts'

/** Asks for the password before a call that requires a recent reauthentication, which is then repeated. */
export function ProveDialog() {
  const cancel = () => proving.value?.(false)
  return (
    <ProofDialog
      about="This change needs a fresh proof. Afterwards it continues by itself."
      onCancel={cancel}
    >
      <InConsole>
        <Proof
          api={session.api}
          proved={() => proving.value?.(true)}
          buttons={<Button onClick={cancel}>Cancel</Button>}
        />
      </InConsole>
    </ProofDialog>
  )
}
