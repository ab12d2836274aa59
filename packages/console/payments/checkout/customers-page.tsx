import type { Customer } from '@plinth/client'
import { useAction } from '../../shared/api/use-reply.ts'
import { Form, type Values } from '../../shared/components/form.tsx'
import { Card, Page } from '../../shared/components/page.tsx'
import { Facts } from '../../shared/components/table.tsx'
import { api } from '../api.ts'

export function CustomersPage() {
  return (
    <Page title="Customers" about="Kept at the provider only; this service has no copy.">
      <NewCustomerCard />
      <FindCustomerCard />
    </Page>
  )
}

function NewCustomerCard() {
  const create = useAction((values: Values) => api.post<Customer>('/api/customers', values))
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
      />
      {create.reply?.ok && <CustomerFacts customer={create.reply.body} />}
    </Card>
  )
}

function FindCustomerCard() {
  const find = useAction(({ id = ' ' }: Values) =>
    api.get<Customer>(`/api/customers/${encodeURIComponent(id)}`),
  )
  return (
    <Card title="Find a customer">
      <Form
        label="Find a customer"
        fields={[{ label: 'Provider customer id', name: 'id', placeholder: 'cus_…' }]}
        action={find}
        send="Find"
        icon="search"
        beside
      />
      {find.reply?.ok && <CustomerFacts customer={find.reply.body} />}
    </Card>
  )
}

function CustomerFacts({ customer }: { customer: Customer }) {
  return (
    <div role="status">
      <Facts
        of={{
          Id: <code>{customer.id}</code>,
          'E-mail': customer.email,
          Name: customer.name,
          Description: customer.description,
        }}
      />
    </div>
  )
}
