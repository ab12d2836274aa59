import { Id } from '../../shared/components/code.tsx'
import { Badge, Card, EmptyState, Page } from '../../shared/components/page.tsx'
import { Loaded } from '../../shared/components/reply.tsx'
import { type Column, PagedTable, Table } from '../../shared/components/table.tsx'
import { moneyText } from '../../shared/wording.ts'
import { type Amounts, api, type Books, type Payment, useCurrent } from '../api.ts'

export function BooksPage() {
  const books = useCurrent((options) => api.get('/sandbox/api/books', options))
  return (
    <Page title="Books" about="Where the money is, per currency and per payment.">
      <Loaded of={books}>
        {({ payments, totals }) =>
          payments.length === 0 ? (
            <EmptyState
              icon="scroll"
              title="No payments"
              about="Pay a session: its money appears here."
            />
          ) : (
            <>
              <TotalsCard totals={totals} />
              <PaymentsCard payments={payments} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function TotalsCard({ totals }: { totals: Books['totals'] }) {
  const rows = Object.entries(totals).map(([currency, amounts]) => ({ currency, ...amounts }))
  return (
    <Card title="Totals">
      <Table
        caption="Totals"
        rows={rows}
        keyOf={({ currency }) => currency}
        columns={[
          { title: 'Currency', of: ({ currency }) => currency.toUpperCase() },
          ...AMOUNT_COLUMNS,
        ]}
      />
    </Card>
  )
}

function PaymentsCard({ payments }: { payments: Payment[] }) {
  return (
    <Card title="Payments">
      <PagedTable<Payment>
        caption="Payments"
        rows={payments}
        keyOf={({ paymentIntent }) => paymentIntent}
        columns={[
          { title: 'Payment', of: ({ paymentIntent }) => <Id of={paymentIntent} /> },
          { title: 'State', of: ({ status }) => <Badge>{status.replaceAll('_', ' ')}</Badge> },
          ...AMOUNT_COLUMNS,
        ]}
      />
    </Card>
  )
}

const AMOUNT_COLUMNS = (['captured', 'refunded', 'pending', 'kept'] as const).map(
  (name): Column<Amounts & { currency: string }> => ({
    title: name.charAt(0).toUpperCase() + name.slice(1),
    of: (row) => moneyText(row[name], row.currency),
    number: true,
  }),
)
