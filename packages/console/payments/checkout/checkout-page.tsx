import type { CheckoutSession } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../../shared/components/button.tsx'
import { Field, Form } from '../../shared/components/form.tsx'
import { Card, Page } from '../../shared/components/page.tsx'
import { faultOf, Refusal } from '../../shared/components/refusal.tsx'
import { Facts } from '../../shared/components/table.tsx'
import { moneyText } from '../../shared/wording.ts'
import { api, newReference } from '../api.ts'

export function CheckoutPage() {
  const create = useAction(({ amount, ...values }: Record<string, string>) =>
    api.post<CheckoutSession>('/api/checkout/sessions', { ...values, amount: Number(amount) }),
  )
  return (
    <Page
      title="New checkout"
      about="The business reference names the payment; the attempt reference names this attempt. Sending both again is safe: the open page is returned."
    >
      <Card title="What is to be paid">
        <Form label="New checkout" onSend={create.run}>
          <CheckoutFields fault={(field) => faultOf(create.reply, field)} />
          <div>
            <Button submits kind="primary" icon="card" busy={create.busy}>
              Create the checkout
            </Button>
          </div>
        </Form>
        <Refusal reply={create.refusal} />
      </Card>
      {create.reply?.ok && <CheckoutReady checkout={create.reply.body} />}
    </Page>
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

function CheckoutFields({ fault }: { fault(field: string): string | undefined }) {
  const amount = useSignal('4900')
  const currency = useSignal('eur')
  const order = useSignal(newReference('order'))
  return (
    <div class="columns">
      <Field
        label="Amount in minor units"
        name="amount"
        value={amount.value}
        inputMode="numeric"
        hint={`That is ${moneyText(Number(amount.value) || 0, currency.value)}.`}
        fault={fault('amount')}
        onInput={(value) => {
          amount.value = value
        }}
      />
      <Field
        label="Currency"
        name="currency"
        value={currency.value}
        maxLength={3}
        hint="Three letters."
        fault={fault('currency')}
        onInput={(value) => {
          currency.value = value
        }}
      />
      <Field
        label="Description"
        name="description"
        value="Walnut desk organiser"
        hint="The product name on the hosted page."
        fault={fault('description')}
      />
      <Field
        label="Business reference"
        name="businessReference"
        value={order.value}
        hint="Yours, unique for this payment."
        fault={fault('businessReference')}
      />
      <Field
        label="Attempt reference"
        name="attemptReference"
        value="attempt-1"
        hint="A new one for each attempt."
        fault={fault('attemptReference')}
      />
      <Field
        label="Customer e-mail"
        name="customerEmail"
        type="email"
        optional
        fault={fault('customerEmail')}
      />
    </div>
  )
}
