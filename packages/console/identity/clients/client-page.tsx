import type { Client } from '@plinth/client'
import { AdminOnly } from '../../shared/account/session/sign-in.tsx'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { Facts } from '../../shared/components/facts.tsx'
import { Form, type Values } from '../../shared/components/form.tsx'
import { Badge, Card, Page } from '../../shared/components/page.tsx'
import { Loaded, Refusal, Success } from '../../shared/components/reply.tsx'
import { goTo } from '../../shared/shell/route.ts'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'
import { changeOf, FIELDS, valuesOf } from './client.ts'
import { ClientSettings } from './client-settings.tsx'
import { Secret } from './issued-secret.tsx'

const DAY_SECONDS = 86_400

export function ClientPage({ clientId }: { clientId: string }) {
  return (
    <Page title="Client" back={{ href: '#/clients', title: 'Clients' }}>
      <AdminOnly session={session} to="manage clients">
        <OneClient key={clientId} clientId={clientId} />
      </AdminOnly>
    </Page>
  )
}

function OneClient({ clientId }: { clientId: string }) {
  const path = { clientId }
  const client = useLoad(() => session.api.get('/api/clients/{clientId}', { path }))
  const edit = useAction(
    (values: Values) =>
      session.api.patch('/api/clients/{clientId}', { path, json: changeOf(values) }),
    client.reload,
  )
  return (
    <Loaded of={client}>
      {(known) => (
        <>
          <StateCard client={known} changed={client.reload} />
          <Card title="Change it">
            <Form
              label="Change the client"
              fields={FIELDS}
              values={valuesOf(known)}
              action={edit}
              send="Save"
              kind="primary"
            />
            {edit.reply?.ok && <Success>The client is changed.</Success>}
          </Card>
          <ClientSettings client={known} />
        </>
      )}
    </Loaded>
  )
}

function StateCard({ client, changed }: { client: Client; changed(): Promise<void> }) {
  const { clientId, name, enabled, authMethod } = client
  const path = { clientId }
  const enable = useAction(
    () => session.api.patch('/api/clients/{clientId}', { path, json: { enabled: !enabled } }),
    changed,
  )
  const rotate = useAction(() =>
    session.api.post('/api/clients/{clientId}/rotate-secret', {
      path,
      json: { overlapSeconds: DAY_SECONDS },
    }),
  )
  const remove = useAction(
    () => session.api.delete('/api/clients/{clientId}', { path }),
    (reply) => reply?.ok && goTo('clients'),
  )
  return (
    <Card
      title={name}
      actions={enabled ? <Badge tone="good">enabled</Badge> : <Badge tone="bad">disabled</Badge>}
    >
      <Facts
        of={{
          'Client id': <code>{clientId}</code>,
          Authentication: authMethod,
          Grants: client.grantTypes.join(', '),
          'ID tokens': client.idTokenAlg,
          Created: dateText(client.createdAt),
        }}
      />
      <div class="row">
        {authMethod === 'client_secret' && (
          <ConfirmButton
            question="Make a new secret and end this one in a day?"
            busy={rotate.busy}
            onClick={() => rotate.run()}
          >
            Rotate the secret
          </ConfirmButton>
        )}
        <ConfirmButton
          question={
            enabled ? 'Refuse its users and end their sessions there?' : 'Let users in again?'
          }
          busy={enable.busy}
          onClick={() => enable.run()}
        >
          {enabled ? 'Disable' : 'Enable'}
        </ConfirmButton>
        <ConfirmButton
          kind="danger"
          question="Delete it, with what users have allowed it? This cannot be undone."
          yes="Delete"
          no="Keep it"
          busy={remove.busy}
          onClick={() => remove.run()}
        >
          Delete
        </ConfirmButton>
      </div>
      {rotate.reply?.ok && <Secret of={{ ...rotate.reply.body, clientId }} />}
      <Refusal reply={enable.refusal ?? rotate.refusal ?? remove.refusal} />
    </Card>
  )
}
