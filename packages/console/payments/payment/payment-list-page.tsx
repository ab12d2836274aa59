import type { Page as PageOf, Payment } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useLoad } from '../../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../../shared/components/button.tsx'
import { Field, Form } from '../../shared/components/form.tsx'
import { EmptyState, Page, Skeleton } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/refusal.tsx'
import { type Column, Pager, Table } from '../../shared/components/table.tsx'
import { dateText, moneyText } from '../../shared/wording.ts'
import { api } from '../api.ts'
import { CheckoutBadge, PaymentBadge } from './status-badges.tsx'

const COLUMNS: Column<Payment>[] = [
  {
    title: 'Payment',
    of: ({ id, businessReference }) => <a href={`#/payments/${id}`}>{businessReference}</a>,
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
  const page = useSignal(0)
  const reference = useSignal('')
  const filter = reference.value && `&businessReference=${encodeURIComponent(reference.value)}`
  const payments = useLoad<PageOf<Payment>>(
    () => api.get(`/api/payments?page=${page.value}&size=20&sort=createdAt,desc${filter}`),
    [page.value, reference.value],
  )
  return (
    <Page title="Payments" about="The local record, read without asking the provider.">
      <Form
        label="Find a payment"
        onSend={(values) => {
          page.value = 0
          reference.value = values.reference ?? ''
        }}
      >
        <div class="row bottom">
          <div class="grow">
            <Field label="Business reference" name="reference" optional />
          </div>
          <Button submits icon="search">
            Find
          </Button>
        </div>
      </Form>
      {payments.loading && <Skeleton />}
      <Refusal reply={payments.refusal} />
      {payments.body && <PaymentTable body={payments.body} reference={reference.value} />}
      <Pager page={page} totalPages={payments.body?.totalPages ?? 0} />
    </Page>
  )
}

function PaymentTable({ body, reference }: { body: PageOf<Payment>; reference: string }) {
  if (body.content.length === 0 && reference)
    return (
      <EmptyState
        icon="search"
        title="No payment has this reference"
        about="It is compared as a whole, capitals included. Leave the field blank to see all payments."
      />
    )
  if (body.content.length === 0)
    return (
      <EmptyState
        icon="card"
        title="No payments"
        about="Create a checkout: its payment appears here."
      >
        <ButtonLink href="#/checkout" kind="primary">
          New checkout
        </ButtonLink>
      </EmptyState>
    )
  return <Table caption="Payments" columns={COLUMNS} rows={body.content} keyOf={({ id }) => id} />
}
