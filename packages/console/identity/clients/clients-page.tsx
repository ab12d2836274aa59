import type { Client } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { AdminOnly } from '../../shared/account/session/sign-in.tsx'
import { useAction, usePages } from '../../shared/api/use-reply.ts'
import { Form, type Values } from '../../shared/components/form.tsx'
import { Badge, Card, Page } from '../../shared/components/page.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { route } from '../../shared/shell/route.ts'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'
import { AUTH_METHOD, changeOf, DEFAULT_SCOPES, FIELDS, KEYS } from './client.ts'
import { ClientPage } from './client-page.tsx'
import { NewClientNotice } from './issued-secret.tsx'

/** The applications that users sign in to with an account of this service. */
export function ClientsPage() {
  const [, clientId] = route.value
  if (clientId !== undefined) return <ClientPage clientId={clientId} />
  return (
    <Page
      title="Clients"
      about="Applications that let users sign in with an account of this service, by OpenID Connect."
    >
      <AdminOnly session={session} to="manage clients">
        <Clients />
      </AdminOnly>
    </Page>
  )
}

function Clients() {
  const clients = usePages<Client & { id: string }>(
    async (page, sort) => {
      const query = `page=${page}&size=20&sort=${sort}`
      const reply = await session.api.get('/api/clients', { query })
      if (!reply.ok) return reply
      const content = reply.body.content.map((client) => ({ ...client, id: client.clientId }))
      return { ...reply, body: { ...reply.body, content } }
    },
    [],
    { sort: 'createdAt,asc' },
  )
  const create = useAction(
    (values: Values) =>
      session.api.post('/api/clients', {
        json: {
          ...changeOf(values),
          authMethod: values.authMethod,
          ...(values.jwksUri && { jwksUri: values.jwksUri }),
        },
      }),
    clients.reload,
  )
  const method = useSignal('client_secret')
  return (
    <>
      <Card title="New client" about="Its identifier and, if it has one, its secret are made here.">
        <Form
          label="New client"
          fields={[
            ...FIELDS,
            { ...AUTH_METHOD, bind: method },
            ...(method.value === 'private_key_jwt' ? [KEYS] : []),
          ]}
          values={{ scopes: DEFAULT_SCOPES }}
          round={create.successes}
          action={create}
          send="Create the client"
          kind="primary"
          icon="key"
        />
        {create.reply?.ok && <NewClientNotice client={create.reply.body} />}
      </Card>
      <List<Client & { id: string }>
        of={clients}
        caption="Clients"
        records={['client', 'clients']}
        columns={COLUMNS}
        empty={<p class="soft">There are no clients yet.</p>}
      />
    </>
  )
}

const COLUMNS: Column<Client>[] = [
  {
    title: 'Name',
    sort: 'name',
    of: ({ name, clientId }) => (
      <a href={`#/clients/${encodeURIComponent(clientId)}`}>
        <strong>{name}</strong>
      </a>
    ),
  },
  { title: 'Client id', of: ({ clientId }) => <code>{clientId}</code> },
  {
    title: 'Kind',
    of: ({ authMethod, firstParty, selfRegistered }) => (
      <span class="row">
        <Badge>{authMethod === 'none' ? 'public' : 'confidential'}</Badge>
        {firstParty && <Badge tone="accent">ours</Badge>}
        {selfRegistered && <Badge>registered itself</Badge>}
      </span>
    ),
  },
  {
    title: 'Created',
    sort: 'createdAt',
    of: ({ createdAt }) => dateText(createdAt),
  },
  {
    title: 'State',
    of: ({ enabled }) =>
      enabled ? <Badge tone="good">enabled</Badge> : <Badge tone="bad">disabled</Badge>,
  },
]
