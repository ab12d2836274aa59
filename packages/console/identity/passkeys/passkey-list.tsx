import type { IdentityApi, Passkey } from '@plinth/client'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { Card, Notice } from '../../shared/components/page.tsx'
import { List } from '../../shared/components/table.tsx'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'

/** `version` changes when a passkey is added, so that the list is reloaded. */
export function PasskeyList({ version }: { version: number }) {
  const passkeys = useLoad<Passkey[]>(() => session.api.get('/api/users/me/passkeys'), [version])
  const remove = useAction(removePasskey, passkeys.reload)
  return (
    <Card
      title="Your passkeys"
      about="Only names and dates: the private keys never leave your devices."
    >
      <List
        of={passkeys}
        action={remove}
        caption="Your passkeys"
        columns={[
          { title: 'Name', of: ({ label }) => <strong>{label}</strong> },
          { title: 'Added', of: ({ createdAt }) => dateText(createdAt) },
          { title: 'Last used', of: ({ lastUsedAt }) => dateText(lastUsedAt) },
          {
            title: 'Action',
            of: ({ id, label }) => (
              <ConfirmButton
                small
                kind="danger"
                icon="trash"
                subject={label}
                question="It will no longer sign you in. Delete it?"
                onClick={() => remove.run(id)}
              >
                Delete
              </ConfirmButton>
            ),
          },
        ]}
        empty={
          <Notice>
            <p>No passkeys yet. Add one: your device asks for a fingerprint, your face or a PIN.</p>
          </Notice>
        }
      />
    </Card>
  )
}

async function removePasskey(id: string) {
  const csrf = await session.api.get<IdentityApi.CsrfToken>('/webauthn/csrf', {
    open: true,
  })
  if (!csrf.ok) return csrf
  const headers = { [csrf.body.headerName]: csrf.body.token }
  const reply = await session.api.delete(`/webauthn/register/${encodeURIComponent(id)}`, {
    headers,
  })
  if (reply.ok) forgetOnDevice(id)
  return reply
}

// Asks the password manager to forget the key; not every browser supports this.
function forgetOnDevice(credentialId: string): void {
  if (typeof PublicKeyCredential === 'undefined') return
  const manager = PublicKeyCredential as unknown as {
    signalUnknownCredential?(known: { rpId: string; credentialId: string }): Promise<void>
  }
  manager.signalUnknownCredential?.({ rpId: location.hostname, credentialId })?.catch(() => {})
}
