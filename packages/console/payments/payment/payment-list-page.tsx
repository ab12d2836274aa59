import type { Payment } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { usePages } from '../../shared/api/use-reply.ts'
import { ButtonLink } from '../../shared/components/button.tsx'
import { type FieldProps, Form, type Values } from '../../shared/components/form.tsx'
import { CARD } from '../../shared/components/icon.tsx'
import { EmptyState, Page } from '../../shared/components/page.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { containing, filtersOf } from '../../shared/shell/route.ts'
import { dateText, moneyText } from '../../shared/wording.ts'
import { api } from '../api.ts'
import { CheckoutBadge, PaymentBadge } from './status-badges.tsx'

const COLUMNS: Column<Payment>[] = [
  {
    title: 'Payment',
    sort: 'businessReference',
    of: ({ id, businessReference }) => (
      <a class="cut single" title={businessReference} href={`#/payments/${id}`}>
        {businessReference}
      </a>
    ),
  },
  {
    title: 'Amount',
    sort: 'amount',
    of: ({ amount, currency }) => moneyText(amount, currency),
    number: true,
  },
  {
    title: 'Refunded',
    of: ({ refundedAmount, currency }) => moneyText(refundedAmount, currency),
    number: true,
  },
  { title: 'Status', sort: 'status', of: (payment) => <PaymentBadge payment={payment} /> },
  { title: 'Checkout', of: (payment) => <CheckoutBadge payment={payment} /> },
  { title: 'Created', sort: 'createdAt', of: ({ createdAt }) => dateText(createdAt) },
]

const ANY = { value: '', label: 'any' }
const STATUSES: Payment['status'][] = [
  'PENDING',
  'PAID',
  'FAILED',
  'PARTIALLY_REFUNDED',
  'REFUNDED',
]

/** Yen have no smaller unit, and a Kuwaiti dinar has a thousand fils. */
const SMALLEST = 'smallest unit, such as cents'

const FIELDS: FieldProps[] = [
  { label: 'Business reference', name: 'q', placeholder: 'contains …' },
  {
    label: 'Status',
    name: 'status',
    options: [ANY, ...STATUSES.map((status) => ({ value: status, label: status }))],
  },
  { label: 'Created from', name: 'createdFrom', type: 'date' },
  { label: 'Created before', name: 'createdTo', type: 'date' },
  { label: 'Amount from', name: 'amountFrom', inputMode: 'numeric', placeholder: SMALLEST },
  { label: 'Amount to', name: 'amountTo', inputMode: 'numeric', placeholder: SMALLEST },
]

export function PaymentListPage() {
  const searches = useSignal(0)
  const { values, apply } = filtersOf(FIELDS.map(({ name }) => name))
  const query = containing(values)
  const payments = usePages<Payment>(
    (page, sort) =>
      api.get('/api/payments', {
        query: `page=${page}&size=20&sort=${sort}${query && `&${query}`}`,
      }),
    [query, searches.value],
    { sort: 'createdAt,desc' },
  )
  const find = (wanted: Values) => {
    apply(wanted)
    searches.value += 1
  }
  return (
    <Page title="Payments" about="The local record, read without asking the provider.">
      <Form
        label="Find a payment"
        fields={FIELDS}
        values={values}
        action={{ run: find }}
        send="Find"
        icon="search"
        folds
      />
      <List
        of={payments}
        caption="Payments"
        records={['payment', 'payments']}
        columns={COLUMNS}
        empty={query ? <NoMatch /> : <NoPayments />}
      />
    </Page>
  )
}

function NoMatch() {
  return (
    <EmptyState
      icon="search"
      title="No payment matches"
      about="Parts of references are found among the newest 10,000 payments. Leave the fields blank to see all."
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
