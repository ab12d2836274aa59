import type { Customer, PaymentsApi } from '@plinth/client'
import { useSignal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../../shared/components/button.tsx'
import { Id } from '../../shared/components/code.tsx'
import { Form, type Values } from '../../shared/components/form.tsx'
import { CARD } from '../../shared/components/icon.tsx'
import { Card, EmptyState, Page } from '../../shared/components/page.tsx'
import { Refusal, Success } from '../../shared/components/reply.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { parameter } from '../../shared/shell/route.ts'
import { api } from '../api.ts'

export type CustomerPage = PaymentsApi.PageOfCustomers

export function CustomersPage() {
  const sought = parameter('sought')
  const searches = useSignal(0)
  const inputs = [sought.value, searches.value]
  const found = useLoad(() => findCustomers(sought.value), inputs)
  const more = useMore(sought.value, found.body?.next ?? null)
  const rows = found.body && [...found.body.customers, ...more.rows]
  const find = ({ sought: text = '' }: Values) => {
    sought.value = text.trim()
    searches.value += 1
  }
  return (
    <Page title="Customers" about="Kept at the provider only; this service has no copy.">
      <NewCustomerCard onMade={found.reload} />
      <Form
        label="Find a customer"
        fields={[
          {
            label: 'E-mail or customer id',
            name: 'sought',
            optional: true,
            hint: 'Enter it in full: partial matches are not found.',
          },
        ]}
        values={{ sought: sought.value }}
        action={{ run: find }}
        send="Find"
        icon="search"
        beside
      />
      <List
        of={{ ...found, body: rows }}
        caption="Customers"
        records={['customer shown', 'customers shown']}
        columns={COLUMNS}
        empty={
          <EmptyState
            icon="people"
            title={sought.value ? 'No customer matches' : 'No customers yet'}
            about={
              sought.value
                ? 'Leave the field blank to see the newest.'
                : 'Create one above, or let the hosted page ask for the address.'
            }
          />
        }
      />
      {more.next && (
        <div>
          <Button busy={more.busy} onClick={more.load}>
            Show more
          </Button>
        </div>
      )}
      <Refusal reply={more.refusal} />
    </Page>
  )
}

/** Finds by the full address or by id; lists all customers if nothing is given. */
async function findCustomers(sought: string, after = ''): Promise<Reply<CustomerPage>> {
  if (sought !== '' && !sought.includes('@')) {
    const reply = await api.get('/api/customers/{id}', { path: { id: sought } })
    if (!reply.ok && reply.status !== 404) return reply
    const customers = reply.ok ? [reply.body] : []
    return { ...reply, ok: true, body: { customers, next: null } }
  }
  const query = new URLSearchParams({ ...(sought && { email: sought }), ...(after && { after }) })
  return api.get('/api/customers', { query })
}

/** The pages after the first that were requested so far. */
function useMore(sought: string, first: string | null) {
  const pages = useSignal<{ from: string | null; rows: Customer[]; next: string | null }>({
    from: null,
    rows: [],
    next: null,
  })
  const { rows, next } =
    pages.value.from === first ? pages.value : { rows: [] as Customer[], next: first }
  const load = useAction(async () => {
    const reply = await findCustomers(sought, next ?? '')
    if (reply.ok)
      pages.value = { from: first, rows: [...rows, ...reply.body.customers], next: reply.body.next }
    return reply
  })
  return { rows, next, load: () => load.run(), busy: load.busy, refusal: load.refusal }
}

const COLUMNS: Column<Customer>[] = [
  { title: 'E-mail', value: ({ email }) => email, of: ({ email }) => <Cut text={email} long /> },
  { title: 'Name', value: ({ name }) => name, of: ({ name }) => <Cut text={name} /> },
  { title: 'Description', of: ({ description }) => <Cut text={description} /> },
  { title: 'Id', of: ({ id }) => <Id of={id} /> },
  {
    title: 'Action',
    acts: true,
    of: ({ id }) => (
      <ButtonLink href={`#/checkout/${encodeURIComponent(id)}`} small icon={CARD}>
        New checkout
      </ButtonLink>
    ),
  },
]

function Cut({ text, long }: { text: string | null; long?: boolean }) {
  return text === null ? (
    <span class="soft">–</span>
  ) : (
    <span class={long ? 'cut long' : 'cut'} title={text}>
      {text}
    </span>
  )
}

function NewCustomerCard({ onMade }: { onMade(): Promise<void> }) {
  const create = useAction((values: Values) => api.post('/api/customers', { json: values }), onMade)
  return (
    <Card title="New customer">
      <Form
        label="New customer"
        fields={[
          { label: 'E-mail', name: 'email', type: 'email' },
          { label: 'Name', name: 'name', optional: true },
          { label: 'Description', name: 'description', optional: true },
        ]}
        action={create}
        send="Create"
        kind="primary"
        round={create.successes}
      />
      {create.reply?.ok && (
        <Success>
          <code>{create.reply.body.id}</code> was created for {create.reply.body.email}.
        </Success>
      )}
    </Card>
  )
}
