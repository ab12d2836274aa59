import { useSignal } from '@preact/signals'
import { Field } from '../family/parts/field.tsx'
import { moneyText } from '../family/wording.ts'
import { newReference } from './api.ts'

export function CheckoutFields({ fault }: { fault(field: string): string | undefined }) {
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
        hint="A new one for each try."
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
