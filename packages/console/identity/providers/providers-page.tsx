import type { IdentityApi } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { AdminOnly } from '../../shared/account/session/sign-in.tsx'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { CopyButton } from '../../shared/components/code.tsx'
import { Badge, Card, EmptyState, Page } from '../../shared/components/page.tsx'
import { List } from '../../shared/components/table.tsx'
import { session } from '../session.ts'

type Tested = IdentityApi.SignInProviderTest

export function ProvidersPage() {
  return (
    <Page
      title="Providers"
      about="Where users have the accounts that they can sign in with. The settings list them."
    >
      <AdminOnly session={session} to="see the providers">
        <ProvidersCard />
      </AdminOnly>
    </Page>
  )
}

function ProvidersCard() {
  const providers = useLoad(() => session.api.get('/api/providers'))
  const results = useSignal<Record<string, Tested>>({})
  const test = useAction(async (id: string) => {
    const reply = await session.api.post('/api/providers/{provider}/test', {
      path: { provider: id },
    })
    if (reply.ok) results.value = { ...results.value, [id]: reply.body }
    return reply
  })
  return (
    <Card title="Sign-in providers" about="Register the callback address at the provider, exactly.">
      <List
        of={providers}
        action={test}
        caption="Sign-in providers"
        empty={
          <EmptyState
            icon="link"
            title="No provider"
            about="The operator of this service can add some in its settings."
          />
        }
        columns={[
          { title: 'Name', of: ({ name }) => name },
          { title: 'Issuer', of: ({ issuer }) => issuer },
          {
            title: 'Callback address',
            of: ({ callbackUrl, name }) => (
              <span class="row">
                <code>{callbackUrl}</code>
                <CopyButton text={() => callbackUrl} label={`Copy the address for ${name}`} />
              </span>
            ),
          },
          { title: 'New accounts', of: ({ signUp }) => (signUp ? 'yes' : 'no') },
          { title: 'Links by address', of: ({ linkByEmail }) => (linkByEmail ? 'yes' : 'no') },
          { title: 'Test', of: ({ id }) => <Result of={results.value[id]} /> },
          {
            title: 'Action',
            of: ({ id, name }) => (
              <Button small onClick={() => test.run(id)} subject={name}>
                Test
              </Button>
            ),
          },
        ]}
      />
    </Card>
  )
}

function Result({ of }: { of: Tested | undefined }) {
  if (!of) return null
  return of.works ? <Badge tone="good">answers</Badge> : <Badge tone="bad">{of.fault}</Badge>
}
