import { useAction } from '../../shared/api/use-reply.ts'
import { Id } from '../../shared/components/code.tsx'
import { Badge, EmptyState, Page } from '../../shared/components/page.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import type { Tone } from '../../shared/components/tone.ts'
import { dateText, moneyText } from '../../shared/wording.ts'
import { api, type Refund, useCurrent } from '../api.ts'
import { actionColumn } from './action-column.tsx'

const TONES: Record<string, Tone> = { succeeded: 'good', failed: 'bad', canceled: 'bad' }

export function RefundsPage() {
  const refunds = useCurrent((options) => api.get('/sandbox/api/refunds', options))
  const act = useAction(
    ({ id }: Refund, action: string) =>
      api.post('/sandbox/api/refunds/{id}/{action}', { path: { id, action } }),
    refunds.reload,
  )
  return (
    <Page
      title="Refunds"
      about="Decide the outcome of a refund: it succeeds, fails, or is cancelled."
    >
      <List
        of={refunds}
        action={act}
        caption="Refunds"
        records={['refund', 'refunds']}
        columns={[...COLUMNS, actionColumn(actionsOf, act.run)]}
        empty={
          <EmptyState
            icon="refresh"
            title="No refunds"
            about="Refund a paid session with your service: the refund appears here."
          />
        }
      />
    </Page>
  )
}

const COLUMNS: Column<Refund>[] = [
  { title: 'Refund', of: ({ id }) => <Id of={id} /> },
  { title: 'Payment', of: ({ payment_intent: intent }) => <Id of={intent} /> },
  {
    title: 'Amount',
    value: ({ amount }) => amount,
    of: ({ amount, currency }) => moneyText(amount, currency),
    number: true,
  },
  {
    title: 'State',
    of: ({ status }) => <Badge tone={TONES[status] ?? 'warn'}>{status.replace('_', ' ')}</Badge>,
  },
  {
    title: 'Created',
    value: ({ created }) => created,
    of: ({ created }) => dateText(created * 1000),
  },
]

function actionsOf({ status }: Refund): string[] {
  if (status === 'succeeded') return ['fail']
  return ['pending', 'requires_action'].includes(status) ? ['succeed', 'fail', 'cancel'] : []
}
