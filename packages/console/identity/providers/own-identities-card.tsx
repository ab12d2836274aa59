import type { Identity, IdentityApi } from '@plinth/client'
import { baseUrl } from '../../shared/api/base-url.ts'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { Card } from '../../shared/components/page.tsx'
import { List } from '../../shared/components/table.tsx'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'

type Providers = IdentityApi.Replies['GET /api/auth/providers']

const PATH = '/api/users/me/identities'

/** Shown only where there are providers, or were when the user linked an account. */
export function OwnIdentitiesCard() {
  const { api } = session
  const identities = useLoad<Identity[]>(() => api.get(PATH))
  const providers = useLoad<Providers>(() => api.get('/api/auth/providers', { open: true }))
  const remove = useAction((id: number) => api.delete(`${PATH}/${id}`), identities.reload)
  if (!identities.body?.length && !providers.body?.length) return null
  const nameOf = (provider: string) =>
    providers.body?.find(({ id }) => id === provider)?.name ?? provider
  return (
    <Card title="Accounts elsewhere" about="Accounts at providers that you can sign in with.">
      <List
        of={identities}
        action={remove}
        caption="Accounts at providers"
        columns={[
          { title: 'Provider', of: ({ provider }) => nameOf(provider) },
          { title: 'E-mail address there', of: ({ email }) => email ?? '–' },
          { title: 'Last used', of: ({ lastUsedAt }) => dateText(lastUsedAt) },
          {
            title: 'Action',
            of: ({ id, provider }) => (
              <ConfirmButton
                small
                kind="danger"
                subject={nameOf(provider)}
                question="You can no longer sign in with it. Remove it?"
                onClick={() => remove.run(id)}
              >
                Remove
              </ConfirmButton>
            ),
          },
        ]}
        empty={<p class="soft">You have linked no account.</p>}
      />
      <p>
        <a href={`${baseUrl}/account/`}>Connect one on your account page</a>
      </p>
    </Card>
  )
}
