import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Badge, EmptyState, Page, Skeleton } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/refusal.tsx'
import { type Column, PagedTable } from '../../shared/components/table.tsx'
import type { Tone } from '../../shared/components/tone.ts'
import { dateText, moneyText } from '../../shared/wording.ts'
import { api, CONTROLS, useCurrent } from '../api.ts'

type Refund = {
  id: string
  amount: number
  currency: string
  status: string
  payment_intent: string
  created: number
}

const TONES: Record<string, Tone> = { succeeded: 'good', failed: 'bad', canceled: 'bad' }

export function RefundsPage() {
  const refunds = useCurrent<Refund[]>('refunds')
  const act = useAction(async (id: string, action: string) => {
    const reply = await api.post(`${CONTROLS}/refunds/${id}/${action}`)
    await refunds.reload()
    return reply
  })
  return (
    <Page
      title="Refunds"
      about="Decide what becomes of a refund: it succeeds, fails, or is cancelled."
    >
      {refunds.loading && <Skeleton />}
      <Refusal reply={act.refusal ?? refunds.refusal} />
      {refunds.body?.length === 0 && (
        <EmptyState
          icon="refresh"
          title="No refunds"
          about="Refund a paid session with your service: the refund appears here."
        />
      )}
      {refunds.body && refunds.body.length > 0 && (
        <PagedTable
          caption="Refunds"
          rows={refunds.body}
          keyOf={({ id }) => id}
          columns={[...COLUMNS, actionColumn(act.run)]}
        />
      )}
    </Page>
  )
}

const COLUMNS: Column<Refund>[] = [
  { title: 'Refund', of: ({ id }) => <code>{id}</code> },
  { title: 'Payment', of: ({ payment_intent: intent }) => <code>{intent}</code> },
  { title: 'Amount', of: ({ amount, currency }) => moneyText(amount, currency), number: true },
  {
    title: 'State',
    of: ({ status }) => <Badge tone={TONES[status] ?? 'warn'}>{status.replace('_', ' ')}</Badge>,
  },
  { title: 'Created', of: ({ created }) => dateText(created * 1000) },
]

function actionColumn(act: (id: string, action: string) => void): Column<Refund> {
  return {
    title: 'Action',
    of: ({ id, status }) => {
      const offered = actionsOf(status)
      if (offered.length === 0) return '–'
      return (
        <span class="row">
          {offered.map(({ action, label }) => (
            <Button key={action} small onClick={() => act(id, action)}>
              {label}
              <span class="visually-hidden"> {id}</span>
            </Button>
          ))}
        </span>
      )
    },
  }
}

function actionsOf(status: string) {
  const fail = { action: 'fail', label: 'Fail' }
  if (status === 'succeeded') return [fail]
  if (status !== 'pending' && status !== 'requires_action') return []
  return [{ action: 'succeed', label: 'Succeed' }, fail, { action: 'cancel', label: 'Cancel' }]
}
