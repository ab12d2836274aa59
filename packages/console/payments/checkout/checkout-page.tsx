import type { CheckoutSession, Customer } from '@plinth/client'
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren, ComponentProps } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../../shared/components/button.tsx'
import { Id } from '../../shared/components/code.tsx'
import { Facts } from '../../shared/components/facts.tsx'
import { type FieldProps, Form, type Values } from '../../shared/components/form.tsx'
import { CARD } from '../../shared/components/icon.tsx'
import { Card, Page } from '../../shared/components/page.tsx'
import { Announced } from '../../shared/components/reply.tsx'
import { route } from '../../shared/shell/route.ts'
import { minorUnitsOf, moneyText, shortId, typedAmount } from '../../shared/wording.ts'
import { api, newReference } from '../api.ts'
import { sandboxPage } from '../provider.tsx'

export function CheckoutPage() {
  const tried = useSignal(false)
  const order = useSignal(newReference('order'))
  const renew = () => {
    order.value = newReference('order')
  }
  const create = useAction(
    async ({ amount = '', ...values }: Values) => {
      const minorUnits = minorUnitsOf(amount, values.currency ?? '')
      tried.value = true
      // The field itself shows what is wrong.
      if (minorUnits === undefined) return undefined
      const body = { ...values, amount: minorUnits }
      return api.post('/api/checkout/sessions', { json: body })
    },
    // The next checkout from this form is another payment.
    (reply) => reply?.ok && renew(),
  )
  return (
    <Page
      title="New checkout"
      about="The business reference names the payment; the attempt reference names this attempt."
    >
      <Card title="What is to be paid">
        <CheckoutForm
          create={create}
          tried={tried.value}
          order={order}
          advice={
            create.refusal?.status === 409 && (
              <Button onClick={renew}>Use a new business reference</Button>
            )
          }
        />
      </Card>
      {create.reply?.ok && <CheckoutReady checkout={create.reply.body} />}
    </Page>
  )
}

type FormProps = {
  create: ComponentProps<typeof Form>['action']
  tried: boolean
  order: Signal<string>
  /** What to do about a refusal. */
  advice: ComponentChildren
}

/** Pre-filled with an example if the provider is the sandbox. */
function CheckoutForm({ create, tried, order, advice }: FormProps) {
  const amount = useSignal(sandboxPage.value ? '49.00' : '')
  const currency = useSignal('eur')
  const customer = useCustomerField()
  const minorUnits = minorUnitsOf(amount.value, currency.value)
  return (
    <Form
      label="New checkout"
      fields={[
        {
          label: 'Amount',
          name: 'amount',
          bind: amount,
          inputMode: 'decimal',
          hint: minorUnits === undefined ? undefined : moneyText(minorUnits, currency.value),
          fault:
            minorUnits === undefined && (tried || amount.value !== '')
              ? `Enter an amount such as ${typedAmount(4900, currency.value)}.`
              : undefined,
        },
        {
          label: 'Currency',
          name: 'currency',
          bind: currency,
          maxLength: 3,
          hint: 'Three letters.',
          suggestions: ['eur', 'usd', 'gbp', 'chf', 'sek', 'pln', 'jpy'],
        },
        {
          label: 'Description',
          name: 'description',
          value: sandboxPage.value && 'Walnut desk organiser',
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
        customer,
        {
          label: 'Customer e-mail',
          name: 'customerEmail',
          type: 'email',
          optional: true,
          hint: 'For the hosted page, when no customer is chosen.',
        },
      ]}
      action={create}
      send="Create the checkout"
      kind="primary"
      icon={CARD}
      advice={advice}
    />
  )
}

/** A choice of the newest customers; if they cannot be listed, a field for the id. */
function useCustomerField(): FieldProps {
  const chosen = route.value[1] ?? ''
  const newest = useLoad(() => api.get('/api/customers', { query: 'size=50', silent: true }))
  const field = { label: 'Customer', name: 'providerCustomerId', optional: true, value: chosen }
  const customers = newest.body?.customers
  if (!customers) return { ...field, placeholder: 'cus_…' }
  const others = customers.filter(({ id }) => id !== chosen)
  const known = customers.find(({ id }) => id === chosen)
  const option = ({ id, email, name }: Customer) => ({
    value: id,
    label: [name, email, shortId(id)].filter(Boolean).join(' · '),
  })
  return {
    ...field,
    options: [
      { value: '', label: 'None' },
      ...(chosen ? [known ? option(known) : { value: chosen, label: shortId(chosen) }] : []),
      ...others.map(option),
    ],
    hint: <a href="#/customers">Find or create one</a>,
  }
}

function CheckoutReady({ checkout }: { checkout: CheckoutSession }) {
  const frame = useRef<HTMLDivElement>(null)
  // The form is higher than most windows, so the next step would be out of sight.
  useEffect(() => frame.current?.scrollIntoView({ block: 'nearest' }), [checkout.paymentId])
  return (
    <div ref={frame}>
      <Card
        title="The checkout is open"
        about="Pay on the hosted page, then come back to the payment."
      >
        <Facts
          of={{
            Payment: <Id of={checkout.paymentId} />,
            Session: <Id of={checkout.checkoutSessionId} />,
          }}
        />
        <Announced class="row">
          <ButtonLink href={checkout.checkoutUrl} newTab kind="primary">
            Open the hosted page
          </ButtonLink>
          <ButtonLink href={`#/payments/${checkout.paymentId}`} icon="list">
            Watch the payment
          </ButtonLink>
        </Announced>
      </Card>
    </div>
  )
}
