import type { Payment } from '@plinth/client'
import { Badge, type Tone } from '../../family/parts/card.tsx'
import { Table } from '../../family/parts/table.tsx'
import { moneyText } from '../../family/wording.ts'
import type { Timeline } from './timeline.ts'

const REFUND_TONES: Record<string, Tone> = {
  succeeded: 'good',
  pending: 'warn',
  failed: 'bad',
}

export function RefundList({ payment, timeline }: { payment: Payment; timeline?: Timeline }) {
  if (!timeline || timeline.refunds.length === 0) return null
  return (
    <Table
      caption="Refunds of this payment"
      rows={timeline.refunds}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Refund', of: ({ id }) => <code>{id}</code> },
        { title: 'Amount', of: ({ amount }) => moneyText(amount, payment.currency), number: true },
        {
          title: 'Status',
          of: ({ status }) => <Badge tone={REFUND_TONES[status]}>{status}</Badge>,
        },
      ]}
    />
  )
}
