import type { CheckoutSession } from '@plinth/client'
import { useSignal } from '@preact/signals'
import type { ComponentProps } from 'preact'
import { useAction } from '../../shared/api/use-reply.ts'
import { ButtonLink } from '../../shared/components/button.tsx'
import { Form, type Values } from '../../shared/components/form.tsx'
import { Card, Page } from '../../shared/components/page.tsx'
import { Facts } from '../../shared/components/table.tsx'
import { moneyText } from '../../shared/wording.ts'
import { api, newReference } from '../api.ts'

export function CheckoutPage() {
  const create = useAction(({ amount, ...values }: Values) =>
    api.post<CheckoutSession>('/api/checkout/sessions', { ...values, amount: Number(amount) }),
  )
  return (
    <Page
      title="New checkout"
      about="The business reference names the payment; the attempt reference names this attempt. Sending both again is safe: the open page is returned."
    >
      <Card title="What is to be paid">
        <CheckoutForm create={create} />
      </Card>
      {create.reply?.ok && <CheckoutReady checkout={create.reply.body} />}
    </Page>
  )
}

function CheckoutForm({ create }: { create: ComponentProps<typeof Form>['action'] }) {
  const amount = useSignal('4900')
  const currency = useSignal('eur')
  const order = useSignal(newReference('order'))
  return (
    <Form
      label="New checkout"
      fields={[
        {
          label: 'Amount in minor units',
          name: 'amount',
          bind: amount,
          inputMode: 'numeric',
          hint: `That is ${moneyText(Number(amount.value) || 0, currency.value)}.`,
        },
        {
          label: 'Currency',
          name: 'currency',
          bind: currency,
          maxLength: 3,
          hint: 'Three letters.',
        },
        {
          label: 'Description',
          name: 'description',
          value: 'Walnut desk organiser',
          hint: 'The product name on the hosted page.',
        },
        {
          label: 'Business reference',
          name: 'businessReference',
          bind: order,
          hint: 'Yours, unique for this payment.',
        },
        {
          label: 'Attempt reference',
          name: 'attemptReference',
          value: 'attempt-1',
          hint: 'A new one for each attempt.',
        },
        { label: 'Customer e-mail', name: 'customerEmail', type: 'email', optional: true },
      ]}
      action={create}
      send="Create the checkout"
      kind="primary"
      icon="card"
    />
  )
}

function CheckoutReady({ checkout }: { checkout: CheckoutSession }) {
  return (
    <Card
      title="The checkout is open"
      about="Pay on the hosted page, then come back to the payment."
    >
      <Facts
        of={{
          Payment: <code>{checkout.paymentId}</code>,
          Session: <code>{checkout.checkoutSessionId}</code>,
        }}
      />
      <div class="row" role="status">
        <ButtonLink href={checkout.checkoutUrl} newTab kind="primary" icon="open">
          Open the hosted page
        </ButtonLink>
        <ButtonLink href={`#/payments/${checkout.paymentId}`} icon="list">
          Watch the payment
        </ButtonLink>
      </div>
    </Card>
  )
}
