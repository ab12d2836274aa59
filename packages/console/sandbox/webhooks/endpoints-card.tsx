import { useSignal } from '@preact/signals'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Field, Form } from '../../shared/components/form.tsx'
import { Card, Skeleton } from '../../shared/components/page.tsx'
import { faultOf, Refusal } from '../../shared/components/refusal.tsx'
import { Table } from '../../shared/components/table.tsx'
import { api, CONTROLS } from '../api.ts'

type Endpoint = { id: string; url: string; enabledEvents: string[] }

const PATH = `${CONTROLS}/webhook-endpoints`

export function EndpointsCard() {
  const endpoints = useLoad<Endpoint[]>(() => api.get(PATH))
  const remove = useAction(async (id: string) => {
    const reply = await api.delete(`${PATH}/${id}`)
    await endpoints.reload()
    return reply
  })
  return (
    <Card title="Webhook endpoints" about="Where events go. Secrets are never shown.">
      {endpoints.loading && <Skeleton />}
      <Refusal reply={endpoints.refusal ?? remove.refusal} />
      {endpoints.body?.length === 0 && <p class="soft">None: events are recorded, not sent.</p>}
      {endpoints.body && endpoints.body.length > 0 && (
        <Table
          caption="Webhook endpoints"
          rows={endpoints.body}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Address', of: ({ url }) => <code>{url}</code> },
            { title: 'Events', of: ({ enabledEvents }) => enabledEvents.join(', ') },
            {
              title: 'Action',
              of: ({ id, url }) => (
                <Button small kind="danger" busy={remove.busy} onClick={() => remove.run(id)}>
                  Remove<span class="visually-hidden"> {url}</span>
                </Button>
              ),
            },
          ]}
        />
      )}
      <NewEndpointForm reload={endpoints.reload} />
    </Card>
  )
}

function NewEndpointForm({ reload }: { reload(): Promise<void> }) {
  const added = useSignal(0)
  const add = useAction(async ({ url = '', secret = '' }: Record<string, string>) => {
    const reply = await api.post(PATH, { url, secret })
    if (reply.ok) added.value += 1
    await reload()
    return reply
  })
  return (
    <Form key={added.value} label="New endpoint" onSend={add.run}>
      <div class="columns">
        <Field
          label="Address"
          name="url"
          type="url"
          placeholder="http://localhost:8084/api/provider/webhook"
          fault={faultOf(add.reply, 'url')}
        />
        <Field
          label="Secret"
          name="secret"
          type="password"
          hint="What the service checks signatures with."
          fault={faultOf(add.reply, 'secret')}
        />
      </div>
      <div>
        <Button submits busy={add.busy}>
          Add the endpoint
        </Button>
      </div>
      <Refusal reply={add.refusal} />
    </Form>
  )
}
