import { useSignal } from '@preact/signals'
import { useAction } from '../shared/api/use-reply.ts'
import { Button } from '../shared/components/button.tsx'
import { Field, Form } from '../shared/components/form.tsx'
import { Card, Notice, Page } from '../shared/components/page.tsx'
import { Refusal } from '../shared/components/refusal.tsx'
import { api, takeToken, tokenRequired } from './api.ts'

/** For a service that asks for tokens of an issuer: this page has no sign-in of its own. */
export function AccessPage() {
  const round = useSignal(0)
  const take = useAction(async ({ token = '' }: Record<string, string>) => {
    takeToken(token.trim())
    round.value += 1
    return api.get('/api/payments?size=1')
  })
  return (
    <Page
      title="Access token"
      about="This service asks for an access token of its issuer. Refunds and retries ask for ROLE_ADMIN."
    >
      <Card
        title="Use a token"
        about="Sign in at the identity console, choose “Copy the token itself…” on its page Session, and paste it here. It stays in the memory of this page."
      >
        <Form label="Use a token" onSend={take.run}>
          <Field key={round.value} label="Access token" name="token" type="password" />
          <div>
            <Button submits kind="primary" icon="key" busy={take.busy}>
              Use it
            </Button>
          </div>
        </Form>
        <Refusal reply={take.refusal}>
          {take.refusal?.status === 401 && <p>It may have expired: copy a fresh one.</p>}
        </Refusal>
        {take.reply?.ok && (
          <Notice tone="good">
            <p role="status">
              The service accepts it. <a href="#/payments">See the payments</a>
            </p>
          </Notice>
        )}
      </Card>
    </Page>
  )
}

export function AccessNote() {
  if (!tokenRequired.value)
    return <span class="soft long">As shipped, the host application guards these endpoints.</span>
  return (
    <span>
      This service requires an access token. <a href="#/access">Enter one</a>
    </span>
  )
}
