import { ConfirmButton } from '../../shared/components/button.tsx'
import { Card, Notice } from '../../shared/components/page.tsx'
import { List } from '../../shared/components/table.tsx'
import { dateText } from '../../shared/wording.ts'
import { useOwnPasskeys } from '../own-account.ts'
import { session } from '../session.ts'

/** `version` changes when a passkey is added, so that the list is reloaded. */
export function PasskeyList({ version }: { version: number }) {
  const { passkeys, remove } = useOwnPasskeys(session.api, version)
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
