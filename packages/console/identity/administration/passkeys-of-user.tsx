import { blockedBy } from '../../shared/account/administration/user-access.tsx'
import type { MoreActions } from '../../shared/account/administration/user-card.tsx'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { List } from '../../shared/components/table.tsx'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'

type Props = Parameters<MoreActions>[0]

/** Shows nothing for a user without passkeys. */
export function PasskeysOfUser({ user, act: { reason } }: Props) {
  const { id } = user
  const passkeys = useLoad(
    () => session.api.get('/api/users/{id}/passkeys', { path: { id }, silent: true }),
    [id],
  )
  const remove = useAction(
    (credentialId: string) =>
      session.api.delete('/api/users/{id}/passkeys/{credentialId}', {
        path: { id, credentialId },
        json: { reason },
      }),
    passkeys.reload,
  )
  if (!passkeys.body || passkeys.body.length === 0) return null
  return (
    <section class="stack tight">
      <h3>Passkeys</h3>
      <List
        of={passkeys}
        action={remove}
        caption={`Passkeys of ${user.username}`}
        columns={[
          { title: 'Name', of: ({ label }) => label },
          { title: 'Added', of: ({ createdAt }) => dateText(createdAt) },
          {
            title: 'Action',
            of: ({ id, label }) => (
              <ConfirmButton
                small
                kind="danger"
                subject={label}
                question={`Remove ${label}?`}
                blocked={blockedBy(reason)}
                onClick={() => remove.run(id)}
              >
                Remove
              </ConfirmButton>
            ),
          },
        ]}
      />
    </section>
  )
}
