import type { Grant } from '@plinth/client'
import type { Reply } from '../../shared/api/api.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { Badge } from '../../shared/components/page.tsx'
import type { Loading } from '../../shared/components/reply.tsx'
import { List } from '../../shared/components/table.tsx'
import { dateText } from '../../shared/wording.ts'

type Props = {
  of: Loading<Grant[]>
  caption: string
  revoke: { run(clientId: string): unknown; refusal?: Reply }
}

export function GrantList({ of, caption, revoke }: Props) {
  const rows = of.body?.map((grant) => ({ ...grant, id: grant.client.clientId }))
  return (
    <List<Grant & { id: string }>
      of={{ ...of, body: rows }}
      action={revoke}
      caption={caption}
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
          of: ({ client }) => (
            <ConfirmButton
              small
              kind="danger"
              subject={client.name}
              question="It loses its access at once. Take it back?"
              onClick={() => revoke.run(client.clientId)}
            >
              Revoke
            </ConfirmButton>
          ),
        },
      ]}
      empty={<p class="soft">No application has access.</p>}
    />
  )
}
