import { blockedBy } from '../../shared/account/administration/user-access.tsx'
import type { MoreActions } from '../../shared/account/administration/user-card.tsx'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { List } from '../../shared/components/table.tsx'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'

type Props = Parameters<MoreActions>[0]

/** Shows nothing for a user who has linked no account at a provider. */
export function IdentitiesOfUser({ user, act: { reason } }: Props) {
  const { id } = user
  const identities = useLoad(
    () => session.api.get('/api/users/{id}/identities', { path: { id }, silent: true }),
    [id],
  )
  const remove = useAction(
    (identityId: number) =>
      session.api.delete('/api/users/{id}/identities/{identityId}', {
        path: { id, identityId },
        json: { reason },
      }),
    identities.reload,
  )
  if (!identities.body || identities.body.length === 0) return null
  return (
    <section class="stack tight">
      <h3>Accounts at providers</h3>
      <List
        of={identities}
        action={remove}
        caption={`Accounts of ${user.username} at providers`}
        columns={[
          { title: 'Provider', of: ({ provider }) => provider },
          { title: 'E-mail address there', of: ({ email }) => email ?? '–' },
          { title: 'Last used', of: ({ lastUsedAt }) => dateText(lastUsedAt) },
          {
            title: 'Action',
            of: ({ id, provider }) => (
              <ConfirmButton
                small
                kind="danger"
                subject={provider}
                question={`Remove the account at ${provider}?`}
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
