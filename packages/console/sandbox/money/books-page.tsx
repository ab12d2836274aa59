import { Badge, Card, EmptyState, Page, Skeleton } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/refusal.tsx'
import { type Column, PagedTable, Table } from '../../shared/components/table.tsx'
import { moneyText } from '../../shared/wording.ts'
import { useCurrent } from '../api.ts'

type Amounts = { captured: number; refunded: number; pending: number; kept: number }

type Payment = Amounts & { paymentIntent: string; status: string; currency: string }

type Books = { payments: Payment[]; totals: Record<string, Amounts> }

export function BooksPage() {
  const books = useCurrent<Books>('books')
  const totals = Object.entries(books.body?.totals ?? {}).map(([currency, amounts]) => ({
    currency,
    ...amounts,
  }))
  return (
    <Page title="Books" about="Where the money is, per currency and per payment.">
      {books.loading && <Skeleton />}
      <Refusal reply={books.refusal} />
      {books.body && totals.length === 0 && (
        <EmptyState
          icon="scroll"
          title="No payments"
          about="Pay a session: its money appears here."
        />
      )}
      {books.body && totals.length > 0 && (
        <>
          <Card title="Totals">
            <Table
              caption="Totals"
              rows={totals}
              keyOf={({ currency }) => currency}
              columns={[
                { title: 'Currency', of: ({ currency }) => currency.toUpperCase() },
                ...amountColumns<(typeof totals)[number]>(),
              ]}
            />
          </Card>
          <Card title="Payments">
            <PagedTable
              caption="Payments"
              rows={books.body.payments}
              keyOf={({ paymentIntent }) => paymentIntent}
              columns={[
                { title: 'Payment', of: ({ paymentIntent }) => <code>{paymentIntent}</code> },
                {
                  title: 'State',
                  of: ({ status }) => <Badge>{status.replaceAll('_', ' ')}</Badge>,
                },
                ...amountColumns<Payment>(),
              ]}
            />
          </Card>
        </>
      )}
    </Page>
  )
}

function amountColumns<Row extends Amounts & { currency: string }>(): Column<Row>[] {
  const column = (title: string, name: keyof Amounts): Column<Row> => ({
    title,
    of: (row) => moneyText(row[name], row.currency),
    number: true,
  })
  return [
    column('Captured', 'captured'),
    column('Refunded', 'refunded'),
    column('Pending', 'pending'),
    column('Kept', 'kept'),
  ]
}
