import type { IdentityApi } from '@plinth/client'
import type { Api } from '../../api/api.ts'
import { useLook } from './look.ts'
import { useOwnGrants } from './own-account.ts'

/** The applications that the user has given access. */
type Props = { api: Api<IdentityApi.Replies>; scopeText(scope: string): string }

export function Grants({ api, scopeText }: Props) {
  const { words, time, Section, Entries } = useLook()
  const { grants, revoke } = useOwnGrants(api)
  if (!grants.body?.length) return null
  return (
    <Section title={words.grantsTitle} about={words.grantsAbout}>
      <Entries
        of={grants}
        caption={words.grantsTitle}
        name={({ client }) => client.name}
        facts={[
          {
            title: words.grantAllows,
            of: ({ scopes, resources }) => [...scopes, ...resources].map(scopeText).join(', '),
          },
          { title: words.granted, of: ({ createdAt }) => time(createdAt) },
          { title: words.lastUsed, of: ({ lastUsedAt }) => time(lastUsedAt) },
        ]}
        remove={{ label: words.remove, question: words.grantRevokeAsk, action: revoke }}
      />
    </Section>
  )
}
