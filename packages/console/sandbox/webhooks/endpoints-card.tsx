import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { Form, type Values } from '../../shared/components/form.tsx'
import { Card } from '../../shared/components/page.tsx'
import { List } from '../../shared/components/table.tsx'
import { api } from '../api.ts'

export function EndpointsCard() {
  const endpoints = useLoad(() => api.get('/sandbox/api/webhook-endpoints'))
  const remove = useAction(
    (id: string) => api.delete('/sandbox/api/webhook-endpoints/{id}', { path: { id } }),
    endpoints.reload,
  )
  const add = useAction(
    ({ url = '', secret = '' }: Values) =>
      api.post('/sandbox/api/webhook-endpoints', { json: { url, secret } }),
    endpoints.reload,
  )
  return (
    <Card title="Webhook endpoints" about="Where events go. Secrets are never shown.">
      <List
        of={endpoints}
        action={remove}
        caption="Webhook endpoints"
        columns={[
          { title: 'Address', of: ({ url }) => <code>{url}</code> },
          { title: 'Events', of: ({ enabledEvents }) => enabledEvents.join(', ') },
          {
            title: 'Action',
            of: ({ id, url }) => (
              <ConfirmButton
                small
                kind="danger"
                question="Remove it and its secret?"
                subject={url}
                busy={remove.busy}
                onClick={() => remove.run(id)}
              >
                Remove
              </ConfirmButton>
            ),
          },
        ]}
        empty={<p class="soft">No endpoints: events are recorded but not sent.</p>}
      />
      <Form
        label="New endpoint"
        fields={[
          {
            label: 'Address',
            name: 'url',
            type: 'url',
            placeholder: 'http://localhost:8084/api/provider/webhook',
          },
          {
            label: 'Secret',
            name: 'secret',
            type: 'password',
            hint: 'The service checks signatures with it.',
          },
        ]}
        action={add}
        send="Add the endpoint"
        round={add.successes}
      />
    </Card>
  )
}
