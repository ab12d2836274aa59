import type { Customer } from '@plinth/client'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Field, Form } from '../../shared/components/form.tsx'
import { Card, Page } from '../../shared/components/page.tsx'
import { faultOf, Refusal } from '../../shared/components/refusal.tsx'
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
  const create = useAction((values: Record<string, string>) =>
    api.post<Customer>('/api/customers', values),
  )
  const fault = (field: string) => faultOf(create.reply, field)
  return (
    <Card title="New customer">
      <Form label="New customer" onSend={create.run}>
        <div class="columns">
          <Field label="E-mail" name="email" type="email" fault={fault('email')} />
          <Field label="Name" name="name" optional fault={fault('name')} />
          <Field label="Description" name="description" optional fault={fault('description')} />
        </div>
        <div>
          <Button submits kind="primary" busy={create.busy}>
            Create
          </Button>
        </div>
      </Form>
      <Refusal reply={create.refusal} />
      {create.reply?.ok && <CustomerFacts customer={create.reply.body} />}
    </Card>
  )
}

function FindCustomerCard() {
  const find = useAction((id: string) =>
    api.get<Customer>(`/api/customers/${encodeURIComponent(id)}`),
  )
  return (
    <Card title="Find a customer">
      <Form label="Find a customer" onSend={({ id }) => find.run(id ?? ' ')}>
        <div class="row bottom">
          <div class="grow">
            <Field label="Provider customer id" name="id" placeholder="cus_…" />
          </div>
          <Button submits icon="search" busy={find.busy}>
            Find
          </Button>
        </div>
      </Form>
      <Refusal reply={find.refusal} />
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
