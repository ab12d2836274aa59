import { useSignal } from '@preact/signals'
import { ServiceKeys } from '../shared/account/administration/service-keys.tsx'
import { useAction } from '../shared/api/use-reply.ts'
import { Form, type Values } from '../shared/components/form.tsx'
import { Card, Page } from '../shared/components/page.tsx'
import { Success } from '../shared/components/reply.tsx'
import { api, takeToken, tokenRequired } from './api.ts'

/** For a service that asks who calls: this page has no sign-in of its own. */
export function AccessPage() {
  const pasted = useSignal('')
  const take = useAction(async ({ token = '' }: Values) => {
    takeToken(token.trim())
    pasted.value = ''
    return api.get('/api/payments?size=1')
  })
  return (
    <Page
      title="Access"
      about="This service asks for a service key, or for an access token of its issuer."
    >
      <Card
        title="Use a token or a key"
        about="A token: sign in at the identity console and choose “Copy the token itself…” on its page Session. A key: an operator makes one at the command line. It stays in the memory of this page."
      >
        <Form
          label="Use a token or a key"
          fields={[
            { label: 'Access token or service key', name: 'token', type: 'password', bind: pasted },
          ]}
          action={take}
          send="Use it"
          kind="primary"
          icon="key"
          advice={take.refusal?.status === 401 && <p>It may have expired: use a fresh one.</p>}
        />
        {take.reply?.ok && (
          <Success>
            The service accepts it. <a href="#/payments">See the payments</a>
          </Success>
        )}
      </Card>
      <ServiceKeys
        api={api}
        scopes={[
          'payments:read',
          'payments:write',
          'refunds:write',
          'events:read',
          'webhooks:write',
        ]}
        by={take.reply}
        absent={
          <p>
            Administrators manage keys here where the service takes the tokens of an issuer.
            Operators do so at the command line everywhere: <code>plinth keys --help</code>.
          </p>
        }
      />
    </Page>
  )
}

export function AccessNote() {
  if (!tokenRequired.value)
    return <span class="soft long">As shipped, the host application guards these endpoints.</span>
  return (
    <span>
      This service requires an access token or a service key. <a href="#/access">Enter one</a>
    </span>
  )
}
