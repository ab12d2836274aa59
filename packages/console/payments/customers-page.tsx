import type { Customer } from '@plinth/client'
import { Button } from '../family/parts/button.tsx'
import { Card } from '../family/parts/card.tsx'
import { Facts } from '../family/parts/facts.tsx'
import { Field } from '../family/parts/field.tsx'
import { Form } from '../family/parts/form.tsx'
import { Page } from '../family/parts/page.tsx'
import { faultOf, Refusal } from '../family/parts/refusal.tsx'
import { useAction } from '../family/use-reply.ts'
import { api } from './api.ts'

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
