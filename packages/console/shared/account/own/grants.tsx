import { useLook } from './look.ts'
import { useGrants } from './own-account.ts'

/** The applications that the user has given access. */
export function Grants({ scopeText }: { scopeText(scope: string): string }) {
  const { api, words, time, Section, Entries } = useLook()
  const { grants, revoke } = useGrants(api, '/api/users/me/grants')
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
