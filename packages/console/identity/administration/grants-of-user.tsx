import type { MoreActions } from '../../shared/account/administration/user-card.tsx'
import { byClient } from '../../shared/account/own/own-account.ts'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { Badge } from '../../shared/components/page.tsx'
import { List } from '../../shared/components/table.tsx'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'

type Props = Parameters<MoreActions>[0]

/** Shows nothing for a user who has allowed no application anything. */
export function GrantsOfUser({ user }: Props) {
  const { id } = user
  const grants = useLoad(
    () => session.api.get('/api/users/{id}/grants', { path: { id }, silent: true }),
    [id],
  )
  const revoke = useAction(
    (clientId: string) =>
      session.api.delete('/api/users/{id}/grants/{clientId}', { path: { id, clientId } }),
    grants.reload,
  )
  const rows = grants.body?.map(byClient)
  if (!rows?.length) return null
  return (
    <section class="stack tight">
      <h3>Applications</h3>
      <List
        of={{ ...grants, body: rows }}
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
