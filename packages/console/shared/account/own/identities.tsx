import type { IdentityApi } from '@plinth/client'
import type { ComponentChildren } from 'preact'
import type { Api } from '../../api/api.ts'
import { useAction, useLoad } from '../../api/use-reply.ts'
import { useLook } from './look.ts'

type Props = {
  api: Api<IdentityApi.Replies>
  /** Changes when an account was linked. */
  version?: number
  /** How one is linked at the providers that are left. */
  children(others: IdentityApi.SignInProvider[], linked: () => unknown): ComponentChildren
}

/** The accounts at providers that the user can sign in with; nothing where there are no providers. */
export function Identities({ api, version, children }: Props) {
  const { words, time, Section, Entries } = useLook()
  const identities = useLoad(() => api.get('/api/users/me/identities'), [version])
  const providers = useLoad(() => api.get('/api/auth/providers', { open: true }))
  const remove = useAction(
    (id: number) => api.delete('/api/users/me/identities/{id}', { path: { id } }),
    identities.reload,
  )
  const own = identities.body ?? []
  const others = (providers.body ?? []).filter(({ id }) => own.every((one) => one.provider !== id))
  if (own.length === 0 && others.length === 0) return null
  const nameOf = (provider: string) =>
    providers.body?.find(({ id }) => id === provider)?.name ?? provider
  return (
    <Section title={words.identitiesTitle} about={words.identitiesAbout}>
      <Entries
        of={identities}
        caption={words.identitiesTitle}
        name={({ provider }) => nameOf(provider)}
        facts={[
          { title: words.email, of: ({ email }) => email ?? '–' },
          { title: words.added, of: ({ createdAt }) => time(createdAt) },
          { title: words.lastUsed, of: ({ lastUsedAt }) => time(lastUsedAt) },
        ]}
        remove={{
          label: words.remove,
          question: words.identityRemoveAsk,
          action: remove,
          meanings: { LAST_SIGN_IN_METHOD: words.lastWayIn },
        }}
      />
      {children(others, identities.reload)}
    </Section>
  )
}
