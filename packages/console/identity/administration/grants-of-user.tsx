import type { MoreActions } from '../../shared/account/administration/user-card.tsx'
import { useGrants } from '../../shared/account/own/own-account.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { Badge } from '../../shared/components/page.tsx'
import { List } from '../../shared/components/table.tsx'
import { dateText } from '../../shared/wording.ts'

type Props = Parameters<MoreActions>[0]

/** Shows nothing for a user who has allowed no application anything. */
export function GrantsOfUser({ session, user }: Props) {
  const { grants, revoke } = useGrants(session.api, `/api/users/${user.id}/grants`, true)
  if (!grants.body?.length) return null
  return (
    <section class="stack tight">
      <h3>Applications</h3>
      <List
        of={grants}
        action={revoke}
        caption={`Applications of ${user.username}`}
        columns={[
          { title: 'Application', of: ({ client }) => <strong>{client.name}</strong> },
          {
            title: 'Allowed',
            of: ({ scopes, resources }) => (
              <span class="row">
                {[...scopes, ...resources].map((one) => (
                  <Badge key={one}>{one}</Badge>
                ))}
              </span>
            ),
          },
          { title: 'Since', of: ({ createdAt }) => dateText(createdAt) },
          { title: 'Last used', of: ({ lastUsedAt }) => dateText(lastUsedAt) },
          {
            title: 'Change',
            of: ({ id, client }) => (
              <ConfirmButton
                small
                kind="danger"
                subject={client.name}
                question="It loses its access at once. Take it back?"
                onClick={() => revoke.run(id)}
              >
                Revoke
              </ConfirmButton>
            ),
          },
        ]}
      />
    </section>
  )
}
