import type { Payment } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { usePages } from '../../shared/api/use-reply.ts'
import { ButtonLink } from '../../shared/components/button.tsx'
import { Form, type Values } from '../../shared/components/form.tsx'
import { CARD } from '../../shared/components/icon.tsx'
import { EmptyState, Page } from '../../shared/components/page.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { useKept } from '../../shared/shell/route.ts'
import { dateText, moneyText } from '../../shared/wording.ts'
import { api } from '../api.ts'
import { CheckoutBadge, PaymentBadge } from './status-badges.tsx'

const COLUMNS: Column<Payment>[] = [
  {
    title: 'Payment',
    of: ({ id, businessReference }) => (
      <a class="cut single" title={businessReference} href={`#/payments/${id}`}>
        {businessReference}
      </a>
    ),
  },
  { title: 'Amount', of: ({ amount, currency }) => moneyText(amount, currency), number: true },
  {
    title: 'Refunded',
    of: ({ refundedAmount, currency }) => moneyText(refundedAmount, currency),
    number: true,
  },
  { title: 'Status', of: (payment) => <PaymentBadge payment={payment} /> },
  { title: 'Checkout', of: (payment) => <CheckoutBadge payment={payment} /> },
  { title: 'Created', of: ({ createdAt }) => dateText(createdAt) },
]

export function PaymentListPage() {
  const reference = useKept('reference', '')
  const searches = useSignal(0)
  const filter = reference.value && `&businessReference=${encodeURIComponent(reference.value)}`
  const payments = usePages<Payment>(
    (page) => api.get(`/api/payments?page=${page}&size=20&sort=createdAt,desc${filter}`),
    [reference.value, searches.value],
  )
  const find = ({ reference: wanted = '' }: Values) => {
    payments.page.value = 0
    reference.value = wanted
    searches.value += 1
  }
  return (
    <Page title="Payments" about="The local record, read without asking the provider.">
      <Form
        label="Find a payment"
        fields={[{ label: 'Business reference', name: 'reference', optional: true }]}
        values={{ reference: reference.value }}
        action={{ run: find }}
        send="Find"
        icon="search"
        beside
      />
      <List
        of={payments}
        caption="Payments"
        columns={COLUMNS}
        empty={reference.value ? <NoMatch /> : <NoPayments />}
      />
    </Page>
  )
}

function NoMatch() {
  return (
    <EmptyState
      icon="search"
      title="No payment has this reference"
      about="It is compared as a whole, capitals included. Leave the field blank to see all payments."
    />
  )
}

function NoPayments() {
  return (
    <EmptyState
      icon={CARD}
      title="No payments"
      about="Create a checkout: its payment appears here."
    >
      <ButtonLink href="#/checkout" kind="primary">
        New checkout
      </ButtonLink>
    </EmptyState>
  )
}
